rule summary:
    input:
        order("summary"),
    output:
        done=touch("work/summary/{stack}.done"),
    log:
        "logs/summary/{stack}.log",
    benchmark:
        "logs/summary/{stack}.tsv"
    conda:
        "../envs/initscope.yaml"
    message:
        "summary {wildcards.stack}"
    script:
        "../scripts/fulfil.py"
