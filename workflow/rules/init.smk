rule init:
    input:
        order("init"),
    output:
        done=touch("work/init/{stack}.done"),
    log:
        "logs/init/{stack}.log",
    benchmark:
        "logs/init/{stack}.tsv"
    message:
        "init {wildcards.stack}"
    conda:
        "../envs/initscope.yaml"
    script:
        "../scripts/fulfil.py"
