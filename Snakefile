# initscope: what an initialization sets before the first update, and which starting scales live or die.
#
#   snakemake --cores all                  everything that config.yaml publishes
#   snakemake --cores all scale            one study
#   snakemake --cores all scale_train      one stage of one study, and what it needs
#   snakemake --cores 1 results/scale/curves/seed~7/std~0.1.parquet
#
# The rules are all alike: a job takes one work order and completes its stack of artifacts into the store; results/
# is a view of that store. What is missing is decided by content, in workflow/rules/common.smk. See docs/design.md.


include: "workflow/rules/common.smk"


rule all:
    input:
        wanted("all"),


for target in NAMES:
    if target not in ("all", "report"):

        rule:
            name:
                target
            input:
                wanted(target),


include: "workflow/rules/corpus.smk"
include: "workflow/rules/init.smk"
include: "workflow/rules/audit.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/sweep.smk"
include: "workflow/rules/zone.smk"
include: "workflow/rules/summary.smk"
include: "workflow/rules/brackets.smk"
include: "workflow/rules/cascade.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/verdicts.smk"
include: "workflow/rules/result.smk"
