rule train:
    input:
        order("train"),
    output:
        done=touch("work/train/{stack}.done"),
    log:
        "logs/train/{stack}.log",
    benchmark:
        "logs/train/{stack}.tsv"
    conda:
        "../envs/initscope.yaml"
    message:
        "train {wildcards.stack}"
    script:
        "../scripts/fulfil.py"
