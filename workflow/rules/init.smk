rule init:
    input:
        order("init"),
    output:
        done=touch("work/init/{stack}.done"),
    log:
        "logs/init/{stack}.log",
    benchmark:
        "logs/init/{stack}.tsv"
    conda:
        "../envs/initscope.yaml"
    message:
        "init {wildcards.stack}"
    script:
        "../scripts/fulfil.py"
