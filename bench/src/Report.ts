/** What a benchmark prints: each figure beside the bare limit of the same run, and the aim. */

export interface Row {
  readonly what: string
  readonly holdfast: number
  readonly bare: number
  readonly unit: string
  /** The ratio holdfast / bare that is aimed at. */
  readonly aim: { readonly atMost: number } | { readonly atLeast: number } | undefined
}

/** A table, one line a row. */
export const print = (title: string, rows: ReadonlyArray<Row>): void => {
  console.log(`\n${title}`)
  for (const { what, holdfast, bare, unit, aim } of rows) {
    const ratio = holdfast / bare
    const met = aim === undefined ? "" : "atMost" in aim ? ratio <= aim.atMost : ratio >= aim.atLeast
    const goal = aim === undefined ? "" : "atMost" in aim ? `aim <= ${aim.atMost}x` : `aim >= ${aim.atLeast}x`
    console.log(
      [
        `  ${what.padEnd(46)}`,
        `${format(holdfast)} ${unit}`.padStart(20),
        `bare ${format(bare)} ${unit}`.padStart(25),
        `${ratio.toFixed(2)}x`.padStart(8),
        goal === "" ? "" : `  ${goal}${met === true ? "" : "  missed"}`
      ].join("")
    )
  }
}

/** The middle one. */
export const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN

/** The value below which the share `q` of all lies. */
export const quantile = (values: ReadonlyArray<number>, q: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * q))] ?? NaN

const format = (value: number): string =>
  value >= 1_000 ? Math.round(value).toLocaleString("en") : value.toFixed(value >= 100 ? 0 : 2)
