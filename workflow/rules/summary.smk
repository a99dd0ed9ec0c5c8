rule summary:
    input:
        order("summary"),
    output:
        done=touch("work/summary/{stack}.done"),
    log:
        "logs/summary/{stack}.log",
    benchmark:
        "logs/summary/{stack}.tsv"
    message:
        "summary {wildcards.stack}"
    conda:
        "../envs/initscope.yaml"
    script:
        "../scripts/fulfil.py"
