/** The options of `simulate`. Pure. */
import { parseArgs } from "node:util"

/** What is asked for. */
export interface Options {
  readonly nights: number
  readonly workers: number
  readonly seed: number | undefined
  readonly from: number | undefined
  readonly defects: boolean
  /** A cluster that loses runners: how many there are, how many are lost, and how many turns wait. */
  readonly cluster:
    | { readonly runners: number; readonly lost: number; readonly turns: number; readonly shards: number }
    | undefined
  readonly whole: boolean
}

/** Reads a command line; a text is what is wrong with it. */
export const read = (args: ReadonlyArray<string>): Options | string => {
  try {
    const { values } = parseArgs({
      args: Array.from(args),
      options: {
        nights: { type: "string", default: "1000" },
        seed: { type: "string" },
        from: { type: "string" },
        workers: { type: "string", default: "2" },
        cluster: { type: "boolean", default: false },
        runners: { type: "string", default: "50" },
        lost: { type: "string", default: "15" },
        turns: { type: "string", default: "1000" },
        shards: { type: "string", default: "300" },
        defects: { type: "boolean", default: false },
        whole: { type: "boolean", default: false }
      }
    })
    return {
      nights: numberOf("nights", values.nights, 1),
      workers: numberOf("workers", values.workers, 1),
      seed: values.seed === undefined ? undefined : numberOf("seed", values.seed, 0),
      from: values.from === undefined ? undefined : numberOf("from", values.from, 0),
      cluster: values.cluster
        ? {
            runners: numberOf("runners", values.runners, 2),
            lost: numberOf("lost", values.lost, 1),
            turns: numberOf("turns", values.turns, 1),
            shards: numberOf("shards", values.shards, 1)
          }
        : undefined,
      defects: values.defects,
      whole: values.whole
    }
  } catch (error) {
    if (error instanceof Error) return error.message
    throw error
  }
}

// --- internal

const numberOf = (name: string, text: string, least: number): number => {
  const number = /^\d{1,12}$/.test(text) ? Number(text) : Number.NaN
  if (number >= least) return number
  throw new Error(`--${name}: found ${JSON.stringify(text)}; expected a whole number from ${least} on.`)
}
