"""One cell a Hydra job, as many at once as the joblib launcher has workers:

python train.py --config-dir . --config-name config --multirun hydra/launcher=joblib hydra.launcher.n_jobs=2 \
setup.init.seed=7,8 setup.init.std=0.1,1.0
"""

from pathlib import Path

import hydra
from eager import corpus, run
from hydra.core.hydra_config import HydraConfig
from omegaconf import OmegaConf


@hydra.main(version_base=None)
def main(config):
    setup = OmegaConf.to_container(config.setup)
    run(setup, corpus(setup), Path(HydraConfig.get().runtime.output_dir, "losses.csv"))


if __name__ == "__main__":
    main()
