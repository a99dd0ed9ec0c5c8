rule cascade:
    input:
        order("cascade"),
    output:
        done=touch("work/cascade/{stack}.done"),
    log:
        "logs/cascade/{stack}.log",
    benchmark:
        "logs/cascade/{stack}.tsv"
    conda:
        "../envs/initscope.yaml"
    message:
        "cascade {wildcards.stack}"
    script:
        "../scripts/fulfil.py"
