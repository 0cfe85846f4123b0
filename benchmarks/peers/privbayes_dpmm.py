"""PrivBayes of dpmm: python privbayes_dpmm.py TRAIN.csv DOMAIN.json EPSILON DELTA OUT.csv."""

from dpmm.pipelines import PrivBayesPipeline
from dpmm_rows import write_rows

if __name__ == "__main__":
    write_rows(__doc__, PrivBayesPipeline)
