rule figures:
    input:
        order("figures"),
    output:
        done=touch("work/figures/{stack}.done"),
    log:
        "logs/figures/{stack}.log",
    benchmark:
        "logs/figures/{stack}.tsv"
    conda:
        "../envs/initscope.yaml"
    message:
        "figures {wildcards.stack}"
    script:
        "../scripts/fulfil.py"
