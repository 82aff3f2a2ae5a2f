/** Prints tables: each figure beside the bare limit and the other checkout of the same run, and the aim. */
import { Count } from "@holdfast/wire"

/** One figure, or the samples of several rounds. */
export type Figure = number | ReadonlyArray<number>

/** A bound of the ratio to the bare limit, of the ratio to the other checkout, or of the figure as it stands. */
export type Aim = ({ readonly atMost: number } | { readonly atLeast: number }) & {
  readonly of?: "bare" | "beside" | "figure"
}

export interface Row {
  readonly what: string
  readonly holdfast: Figure
  /** The same of the checkout that `--beside` names. */
  readonly beside?: Figure | undefined
  readonly bare: Figure | undefined
  readonly unit: string
  readonly aim: Aim | ReadonlyArray<Aim> | undefined
}

/** A table, one line a row: medians, and the ratios of medians. */
export const print = (title: string, rows: ReadonlyArray<Row>): void => {
  console.log(`\n${title}`)
  const width = Math.max(46, ...rows.map(({ what }) => what.length + 1))
  for (const row of rows) {
    const { bare, beside, holdfast, unit, what } = row
    console.log(
      [
        `  ${what.padEnd(width)}`,
        `${format(middle(holdfast))} ${unit}${spread(holdfast)}`.padStart(28),
        present(beside) ? against("beside", holdfast, beside, unit) : "",
        present(bare) ? against("bare", holdfast, bare, unit) : "",
        [row.aim ?? []]
          .flat()
          .map((aim) => verdict(row, aim))
          .join("")
      ].join("")
    )
  }
}

/** The middle one. */
export const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN

/** The smallest value that at least the share `q` of all does not exceed: the nearest rank. */
export const quantile = (values: ReadonlyArray<number>, q: number): number =>
  values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(values.length * q) - 1)] ?? NaN

// --- internal

const middle = (figure: Figure): number => (typeof figure === "number" ? figure : median(figure))

const present = (figure: Figure | undefined): figure is Figure =>
  figure !== undefined && (typeof figure === "number" || figure.length > 0)

const ratio = (figure: Figure, other: Figure | undefined): number =>
  present(other) ? middle(figure) / middle(other) : NaN

const against = (name: string, figure: Figure, other: Figure, unit: string): string =>
  `${name} ${format(middle(other))} ${unit}${spread(other)}`.padStart(36) +
  `${ratio(figure, other).toFixed(2)}x`.padStart(8)

/** Lowest and highest of a few rounds. */
const spread = (figure: Figure): string =>
  typeof figure === "number" || figure.length < 2 || figure.length > 20
    ? ""
    : ` (${format(Math.min(...figure))}-${format(Math.max(...figure))})`

const verdict = (row: Row, aim: Aim): string => {
  const of = aim.of ?? "bare"
  const value = of === "figure" ? middle(row.holdfast) : ratio(row.holdfast, row[of])
  const [sign, bound] = "atMost" in aim ? (["<=", aim.atMost] as const) : ([">=", aim.atLeast] as const)
  const goal = of === "figure" ? `${bound} ${row.unit}`.trim() : `${bound}x${of === "beside" ? " of beside" : ""}`
  if (Number.isNaN(value)) return `  aim ${sign} ${goal}`
  const met = sign === "<=" ? value <= bound : value >= bound
  return `  aim ${sign} ${goal}${met ? "" : "  missed"}`
}

const format = (value: number): string =>
  value >= 1_000 ? Count.format(Math.round(value)) : value.toFixed(value >= 100 ? 0 : 2)
