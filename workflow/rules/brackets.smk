rule brackets:
    input:
        order("brackets"),
    output:
        done=touch("work/brackets/{stack}.done"),
    log:
        "logs/brackets/{stack}.log",
    benchmark:
        "logs/brackets/{stack}.tsv"
    conda:
        "../envs/initscope.yaml"
    message:
        "brackets {wildcards.stack}"
    script:
        "../scripts/fulfil.py"
