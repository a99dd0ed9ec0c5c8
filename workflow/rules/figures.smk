rule figures:
    input:
        order("figures"),
    output:
        done=touch("work/figures/{stack}.done"),
    log:
        "logs/figures/{stack}.log",
    benchmark:
        "logs/figures/{stack}.tsv"
    message:
        "figures {wildcards.stack}"
    conda:
        "../envs/initscope.yaml"
    script:
        "../scripts/fulfil.py"
