rule train:
    input:
        order("train"),
    output:
        done=touch("work/train/{stack}.done"),
    log:
        "logs/train/{stack}.log",
    benchmark:
        "logs/train/{stack}.tsv"
    priority: 1  # the longest jobs first, so that no core waits for them at the end
    conda:
        "../envs/initscope.yaml"
    message:
        "train {wildcards.stack}"
    script:
        "../scripts/fulfil.py"
