"""What the PRISM paper prints, at ε = 1: area under the ROC curve, with 95 % intervals."""

from understudy.experiments.prism.sections import ADULT, MARGINAL, SPURIOUS, WINS

AUC = {
    SPURIOUS: {
        "PRISM-Causal (Unif)": "0.733 ± 0.004",
        "PRISM-Causal (Opt)": "0.732 ± 0.002",
        "MST": "0.519 ± 0.004",
        "PRISM-Graphical (Opt)": "0.513 ± 0.005",
        "PRISM-Graphical (Unif)": "0.513 ± 0.005",
        "All Features (Unif)": "0.512 ± 0.006",
        "Independence Only": "0.502 ± 0.018",
        "PrivBayes": "0.501 ± 0.009",
        "Corr Top-k (Oracle)": "0.490 ± 0.011",
    },
    MARGINAL: {
        "MST": "1.000 ± 0.000",
        "PRISM-Graphical (Unif)": "1.000 ± 0.000",
        "PRISM-Graphical (Opt)": "1.000 ± 0.000",
        "All Features (Unif)": "1.000 ± 0.000",
        "PrivBayes": "0.977 ± 0.013",
        "Corr Top-k (Oracle)": "0.942 ± 0.010",
        "PRISM-Causal (Unif)": "0.713 ± 0.027",
        "PRISM-Causal (Opt)": "0.710 ± 0.037",
        "Independence Only": "0.465 ± 0.118",
    },
    ADULT: {
        "All Features (Unif)": "0.875 ± 0.001",
        "PRISM-Predictive (Opt)": "0.874 ± 0.002",
        "PRISM-Predictive (Unif)": "0.874 ± 0.003",
        "Corr Top-k (Oracle)": "0.874 ± 0.002",
        "PrivBayes": "0.831 ± 0.016",
        "MST": "0.792 ± 0.014",
        "Independence Only": "0.519 ± 0.042",
    },
    WINS: {
        "Closed-form allocation (oracle weights)": "0.900 ± 0.027",
        "Uniform allocation": "0.769 ± 0.059",
    },
}
"""Tables 1, 2, 3 and 5."""
ACCURACY = {
    "All Features (Unif)": "0.800",
    "PRISM-Predictive (Opt)": "0.805",
    "PRISM-Predictive (Unif)": "0.802",
    "Corr Top-k (Oracle)": "0.798",
    "PrivBayes": "0.793",
    "MST": "0.760",
    "Independence Only": "0.761",
}
"""Table 4."""
ONE_WAY = {
    "All Features (Unif)": "0.026",
    "PRISM-Predictive (Opt)": "0.027",
    "PRISM-Predictive (Unif)": "0.027",
    "Corr Top-k (Oracle)": "0.021",
    "PrivBayes": "0.047",
    "MST": "0.022",
    "Independence Only": "0.023",
}
"""Table 4: the mean L1 error of single columns."""
