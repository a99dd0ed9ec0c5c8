rule verdicts:
    input:
        order("verdicts"),
    output:
        done=touch("work/verdicts/{stack}.done"),
    log:
        "logs/verdicts/{stack}.log",
    benchmark:
        "logs/verdicts/{stack}.tsv"
    conda:
        "../envs/initscope.yaml"
    message:
        "verdicts {wildcards.stack}"
    script:
        "../scripts/fulfil.py"
