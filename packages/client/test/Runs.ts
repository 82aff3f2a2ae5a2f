/** Cases of a property: `HOLDFAST_MODEL_RUNS=10000` is the nightly form. */
export const RUNS = Number(process.env["HOLDFAST_MODEL_RUNS"] ?? 300)
