rule train:
    input:
        order("train"),
    output:
        done=touch("work/train/{stack}.done"),
    log:
        "logs/train/{stack}.log",
    benchmark:
        "logs/train/{stack}.tsv"
    message:
        "train {wildcards.stack}"
    conda:
        "../envs/initscope.yaml"
    script:
        "../scripts/fulfil.py"
