rule audit:
    input:
        order("audit"),
    output:
        done=touch("work/audit/{stack}.done"),
    log:
        "logs/audit/{stack}.log",
    benchmark:
        "logs/audit/{stack}.tsv"
    message:
        "audit {wildcards.stack}"
    conda:
        "../envs/initscope.yaml"
    script:
        "../scripts/fulfil.py"
