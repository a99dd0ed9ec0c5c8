# `snakemake results/scale/curves/seed~7/std~0.1.parquet`: any file of the plan is a target.


localrules:
    result,
    figure,
    unknown,


ruleorder: figure > result


rule result:
    input:
        fulfilled,
    output:
        "results/{place}",
    log:
        "logs/result/{place}.log",
    conda:
        "../envs/initscope.yaml"
    params:
        stored=lambda wildcards: run().stored(f"results/{wildcards.place}"),
    message:
        "show {output}"
    script:
        "../scripts/result.py"


# The same for a figure, marked for `snakemake --report report.html report`.
rule figure:
    input:
        fulfilled,
    output:
        report("results/{place}", caption="../report/figure.rst", category="figures"),
    log:
        "logs/result/{place}.log",
    wildcard_constraints:
        place=r".+/figures/\w+\.svg",
    conda:
        "../envs/initscope.yaml"
    params:
        stored=lambda wildcards: run().stored(f"results/{wildcards.place}"),
    message:
        "show {output}"
    script:
        "../scripts/result.py"


rule report:
    input:
        lambda wildcards: run().figures("report"),


# A misspelt target comes here, and is answered in one line by `run`.
rule unknown:
    input:
        lambda wildcards: run().orders(wildcards.target),
    output:
        "{target}",
    log:
        "logs/unknown/{target}.log",
    wildcard_constraints:
        target="[^/.]+",
    conda:
        "../envs/initscope.yaml"
    script:
        "../scripts/result.py"
