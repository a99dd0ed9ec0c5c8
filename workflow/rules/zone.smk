rule zone:
    input:
        order("zone"),
    output:
        done=touch("work/zone/{stack}.done"),
    log:
        "logs/zone/{stack}.log",
    benchmark:
        "logs/zone/{stack}.tsv"
    priority: 2  # several rounds of training, one after the other
    conda:
        "../envs/initscope.yaml"
    message:
        "zone {wildcards.stack}"
    script:
        "../scripts/fulfil.py"
