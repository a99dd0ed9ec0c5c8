rule corpus:
    input:
        order("corpus"),
    output:
        done=touch("work/corpus/{stack}.done"),
    log:
        "logs/corpus/{stack}.log",
    benchmark:
        "logs/corpus/{stack}.tsv"
    message:
        "corpus {wildcards.stack}"
    conda:
        "../envs/initscope.yaml"
    script:
        "../scripts/fulfil.py"
