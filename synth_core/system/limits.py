"""Bounds of every number a user may set, in one place; the property tests draw from them."""

MIN_ROWS = 10
MAX_EXAMPLE_ROWS = 1_000_000  # that the app simulates
MAX_ROWS = 20_000_000
MAX_COLUMNS = 5_000
MAX_LEVELS = 100
MAX_MARKERS = 50  # values that mean missing
MAX_MARKER_LENGTH = 100
MAX_DESIGN_COLUMNS = 200
MAX_UPLOAD_MB = 200
MAX_CODEBOOK_MB = 5
MAX_CELL_CHARACTERS = 32_767  # as in a workbook
MAX_UNPACKED_MB = 4_000
UNPACKED_FREE_MB = 500  # what a file may become in memory: so much,
UNPACKED_TIMES = 100  # or so many times its size
READ_SECONDS = 180  # for a file, in a process of its own
READ_MEMORY_MB = 12_288  # of address space, of which readers reserve more than they use
MAX_UNPACKED_XLSX_MB = 1_000  # of XML, which takes many times its size in memory

SCALE = (0.0, 2.0)  # c of alpha = c * (1 - risk) + g
SHIFT = (-1.0, 1.0)  # g
EPSILON = (0.01, 1_000.0)
GUESS_ZEROS = (0.001, 0.999)
PILOT_SHARE = (0.0, 1.0)
COUNTS_SHARE = (0.05, 0.95)
ANCHOR_WEIGHT = (1e-5, 1.0)  # c
ANCHOR_RECORDS = (0.0, 1e6)
MAX_RADIUS = 10.0
TOLERANCE = (1e-4, 0.2)  # of a solved Lipschitz bound, relative
CHAINS = (1, 100)  # a release has one for each data set
DRAWS = (100, 20_000)
WARMUP = (100, 20_000)
MAX_NAMED_TABLES = 200  # of columns that are counted together
REPLICATES = (2, 1_000)  # simulated databases of a study in the app
PICTURES = (2, 41)  # of a play
SEED = (0, 2**31 - 1)
DATASETS = (1, 100)
PREDICTIVE = (20, 2_000)  # predictive data sets that a point of the map is measured on
STEPS = (1, 200)  # of one knob of a sweep
MAX_SWEEP_POINTS = 1_000
MAX_SEARCHES = 200  # inverse tunings of one request
RIVAL_RUNS = 5  # of another synthesizer at each epsilon, where nothing else is asked for
AUDIT_RUNS = (1_000, 200_000)  # of a mechanism on each of two neighbouring tables
CATEGORIES = (2, 60)  # of a categorical outcome
COMPONENTS = (1, 12)  # of a mixture
CONCENTRATION = (0.5, 500.0)  # prior mean of a, of a mixture's shares
PRIOR_SCALE = (0.01, 100.0)

# Convergence asked of a fit before its numbers are shown unmarked (Vehtari et al. 2021).
MAX_RHAT = 1.01  # of some quantities; of many it is what chains that agree exceed in this share of fits:
FALSE_MARKS = 0.01
MAX_UNSEEN = 0.01  # of the posterior, in modes that no chain was in
MIN_ESS_PER_CHAIN = 100
MAX_DIVERGENCE_SHARE = 0.001
MAX_KHAT = 0.7  # of a preview by importance sampling (Vehtari et al. 2024)

MAX_PROGRAM_BYTES = 64 * 1024  # of an own Stan program
MAX_OWN_ROWS = 200_000  # a fit of so many takes minutes: its program is differentiated record by record
OWN_SECONDS = 3_600  # processor time of one fit by an own program
OWN_CHECK_SECONDS = 30  # and of one step of its check
OWN_COMPILE_SECONDS = 300
OWN_MEMORY_MB = 4_096

# Files and texts of releases.
MAX_PLAN_BYTES = 1024**2
MAX_SETTINGS_BYTES = 1024**2  # a codebook may be among them
MAX_RISK_MAP_BYTES = 512 * 1024**2
RISK_MAP_MEMORY_MB = 6_144  # of address space, in a process of its own
REASON_LENGTH = 4_000
SCENARIO_NAME = 40
MAX_SCENARIOS = 12
NAME_LENGTH = 64
UNIT_SIZE = (1, 100)
WEIGHT_TOTAL = (1.0, 1e12)  # records of a population
WEIGHT_CAP = (1.0, 1000.0)
MAX_RULES = 200  # structural zeros
MAX_BLOCKS = 40  # sensitive variables of a plan
DECIMALS = (-9, 12)
SAFETY = (1.0, 2.0)
TOTAL_EPSILON = (0.01, 100_000.0)
LIMIT_DELTA = (1e-12, 1e-2)  # of a series that is limited by (ε, δ)
MAX_GROWTH = 0.05  # of Delta over the second half of the draws, relative
COPY_ALPHA = 1e-4  # how seldom the copy tests may refuse an honest data set

CACHE_BYTES = 2 * 1024**3
CACHE_DAYS = 30  # that an entry is kept without being used
