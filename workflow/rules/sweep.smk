rule sweep:
    input:
        order("sweep"),
    output:
        done=touch("work/sweep/{stack}.done"),
    log:
        "logs/sweep/{stack}.log",
    benchmark:
        "logs/sweep/{stack}.tsv"
    priority: 1  # the longest jobs first, so that no core waits for them at the end
    conda:
        "../envs/initscope.yaml"
    message:
        "sweep {wildcards.stack}"
    script:
        "../scripts/fulfil.py"
