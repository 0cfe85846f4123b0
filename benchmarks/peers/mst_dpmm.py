"""MST of dpmm: python mst_dpmm.py TRAIN.csv DOMAIN.json EPSILON DELTA OUT.csv."""

from dpmm.pipelines import MSTPipeline
from dpmm_rows import write_rows

if __name__ == "__main__":
    write_rows(__doc__, MSTPipeline)
