/**
 * Compares `streamText` with a tool under Holdfast's middleware, bare, and bare with its own retries at 5: failures before each of its two responses, and
 * behind the first word of the second.
 *
 * A run is answered when the program got the text once and whole, and the tool ran once. Requests are counted at the server.
 */
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { type Answer, listen } from "../../../packages/ai-sdk/test/Scripted.ts"

/** What the program got of one run. */
interface Got {
  readonly text: string
  readonly toolRuns: number
  readonly errors: ReadonlyArray<string>
  readonly seconds: number
}

/** A run, and what it was. */
interface Outcome extends Got {
  readonly failure: string
  readonly variant: string
  readonly isAnswer: boolean
  readonly requests: number
}

const VARIANTS = ["holdfast", "default", "retries"] as const

/** Failures before a response, and those behind the beginning of a text. */
const FAILURES: ReadonlyArray<readonly [name: string, before: ReadonlyArray<Answer>, behind?: Answer]> = [
  ["a 529", [529]],
  ["an error in the stream", [{ error: "Overloaded" }]],
  ["a stall", ["stall"]],
  ["a cut", [{ cut: [] }]],
  ["all four", [529, { error: "Overloaded" }, "stall", { cut: [] }]],
  ["an end without the terminal event", [{ ended: [] }]],
  ["a cut behind the first word", [], { cut: ["It "] }],
  ["an error behind the first word", [], { error: "Overloaded", behind: "It " }]
]

/** Runs all of it side by side, in one process: `node program.mjs RUNS`. */
export const run = async (node: string, program: string, cwd: string): Promise<ReadonlyArray<Outcome>> => {
  const runs = await Promise.all(
    FAILURES.flatMap(([failure, before, behind]) =>
      VARIANTS.map(async (variant) => ({
        failure,
        variant,
        server: await listen([...before, TOOL, ...before, ...(behind === undefined ? [] : [behind]), ANSWER])
      }))
    )
  )
  const list = JSON.stringify(runs.map(({ server, variant }) => ({ url: server.url, variant })))
  const { stdout } = await promisify(execFile)(node, [program, list], { cwd })
  const outcomes = (JSON.parse(stdout) as ReadonlyArray<Got>).map((got, at): Outcome => {
    const { failure = "", server, variant = "" } = runs[at] ?? {}
    const isAnswer = got.text === "It rains." && got.toolRuns === 1 && got.errors.length === 0
    return { ...got, failure, variant, isAnswer, requests: server?.requests.length ?? 0 }
  })
  await Promise.all(runs.map(({ server }) => server.close()))
  return outcomes
}

const TOOL: Answer = { tool: { name: "weather", input: { city: "Bergen" } } }

const ANSWER: Answer = { text: ["It ", "rains."] }

/** What is wrong with the runs under Holdfast; nothing if the program got one answer, nothing twice, and its tool ran once. */
export const problems = (outcomes: ReadonlyArray<Outcome>): ReadonlyArray<string> =>
  outcomes.flatMap(({ errors, failure, isAnswer, requests, text, toolRuns, variant }) => {
    const [, before = [], behind] = FAILURES.find(([name]) => name === failure) ?? []
    if (variant !== "holdfast") return []
    // Behind content nothing is called again (rule D4): the program has the text so far, and the error.
    const isRight = behind === undefined ? isAnswer : text === "It " && errors.length === 1 && toolRuns === 1
    const expected = 2 + 2 * before.length
    return [
      ...(isRight ? [] : [`${failure}: text "${text}", ${toolRuns} runs of the tool, errors ${errors.join(", ")}`]),
      ...(requests === expected ? [] : [`${failure}: ${requests} requests instead of ${expected}`])
    ]
  })

/** One row a failure, as in the README of `@holdfast/ai-sdk`. */
export const tableOf = (outcomes: ReadonlyArray<Outcome>): string => {
  const cell = (name: string, variant: string): string => {
    const found = outcomes.find((outcome) => outcome.failure === name && outcome.variant === variant)
    if (found === undefined) return ""
    const { errors, isAnswer, requests, seconds, text } = found
    const isSilent = text === "" && errors.length === 0
    const got = isAnswer
      ? "answered"
      : isSilent
        ? "no text, and no error"
        : [...(text === "" ? [] : [`"${text}"`]), ...errors.slice(0, 1)].join(", then ")
    return `${got}; ${requests} requests, ${seconds} s`
  }
  const rows = FAILURES.map(([name]) => `| ${name} | ${VARIANTS.map((variant) => cell(name, variant)).join(" | ")} |`)
  return [
    "| failure | with `holdfast` | bare | bare, `maxRetries: 5`, `streamRetries: 5` |",
    "|---|---|---|---|",
    ...rows
  ].join("\n")
}
