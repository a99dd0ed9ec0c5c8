# `snakemake results/scale/curves/seed~7/std~0.1.parquet`: any file of the plan is a target.

PLACES = targets.places(PLAN)


def fulfilled(wildcards):
    begin()
    artifact = PLACES[f"results/{wildcards.place}"]
    return [DONE[artifact.digest]] if artifact.digest in DONE else []


def stored(wildcards):
    artifact = PLACES[f"results/{wildcards.place}"]
    name = next(
        n for n, place in artifact.places.items() if place == f"results/{wildcards.place}"
    )
    return f".store/{artifact.digest}/{name}"


localrules:
    result,


rule result:
    input:
        fulfilled,
    output:
        "results/{place}",
    params:
        stored=stored,
    log:
        "logs/result/{place}.log",
    message:
        "show {output}"
    conda:
        "../envs/initscope.yaml"
    script:
        "../scripts/result.py"
