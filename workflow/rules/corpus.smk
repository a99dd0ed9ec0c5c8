rule corpus:
    input:
        order("corpus"),
    output:
        done=touch("work/corpus/{stack}.done"),
    log:
        "logs/corpus/{stack}.log",
    benchmark:
        "logs/corpus/{stack}.tsv"
    conda:
        "../envs/initscope.yaml"
    message:
        "corpus {wildcards.stack}"
    script:
        "../scripts/fulfil.py"
