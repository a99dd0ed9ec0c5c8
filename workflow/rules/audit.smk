rule audit:
    input:
        order("audit"),
    output:
        done=touch("work/audit/{stack}.done"),
    log:
        "logs/audit/{stack}.log",
    benchmark:
        "logs/audit/{stack}.tsv"
    conda:
        "../envs/initscope.yaml"
    message:
        "audit {wildcards.stack}"
    script:
        "../scripts/fulfil.py"
