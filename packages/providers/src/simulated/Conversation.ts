/**
 * What a simulated model reads and says: the directive in a prompt, and the answer that tells a newcomer what happened.
 *
 * Pure. Tokens are words with the space behind them, so that an answer cut after any of them is a piece of its text.
 */
import { durationInWords } from "./Description.ts"

/** A prompt taken apart. */
export interface Prompt {
  /** What a line `simulate: ...` asks for; the last one counts. */
  readonly directive: string | undefined
  /** The prompt without such lines. */
  readonly text: string
}

/** Takes a prompt apart. */
export const readPrompt = (prompt: string): Prompt => {
  if (!prompt.includes("simulate:")) return { directive: undefined, text: prompt.trim() }
  let directive: string | undefined
  const lines: Array<string> = []
  for (const line of prompt.split("\n")) {
    const found = DIRECTIVE.exec(line)
    if (found === null) lines.push(line)
    else directive = found[1] ?? ""
  }
  return { directive, text: lines.join("\n").trim() }
}

/** What an answer is about. */
export interface Occasion {
  readonly prompt: string
  /** Requests of this turn that failed. */
  readonly failures: number
  /** Since the turn began. */
  readonly elapsedMs: number
  /** The last message is a tool's result. */
  readonly afterTool: boolean
}

/** The text of an answer, as tokens; `count` of them, or as many as there are. */
export const answer = (occasion: Occasion, count?: number): ReadonlyArray<string> => {
  const text = [happened(occasion), echo(occasion), HINT].join(" ")
  return count === undefined ? tokens(text) : fill(tokens(text), count)
}

/** What a simulated model thinks before it answers. */
export const reasoning = (occasion: Occasion): ReadonlyArray<string> =>
  tokens(
    occasion.failures === 0
      ? "Nothing has failed so far. I will say so and repeat what I was asked."
      : "I can only think this because somebody kept asking. I will say how often it took, and repeat what I was asked."
  )

/** What a simulated model says when it declines. */
export const refusal: ReadonlyArray<string> = ["I ", "cannot ", "help ", "with ", "that."]

/** Splits a text into tokens, which joined are the text again. */
export const tokens = (text: string): ReadonlyArray<string> => text.match(/\S+\s*/g) ?? []

// --- internal

const DIRECTIVE = /^\s*simulate:\s*(.*?)\s*$/

/** Longer prompts are echoed up to here. */
const ECHO_LENGTH = 120

const HINT =
  "I am a simulated model: what fails, and how, is part of my name. " +
  "Give Holdfast a provider's key and a real model answers instead."

const happened = ({ failures, elapsedMs }: Occasion): string =>
  failures === 0
    ? "Nothing failed this time."
    : `You have just seen a turn outlive ${failures === 1 ? "a failure" : `${failures} failures`}` +
      (elapsedMs < 1000 ? "." : ` in ${durationInWords(elapsedMs)}.`)

const echo = ({ prompt, afterTool }: Occasion): string => {
  const characters = Array.from(prompt.replaceAll(/\s+/g, " ").trim())
  const short = characters.length > ECHO_LENGTH ? `${characters.slice(0, ECHO_LENGTH).join("")}…` : characters.join("")
  const wrote = short === "" ? "You wrote nothing else." : `You wrote: “${short}”.`
  return afterTool ? `The tool has answered. ${wrote}` : wrote
}

const fill = (said: ReadonlyArray<string>, count: number): ReadonlyArray<string> => {
  if (said.length >= count) return said.slice(0, count)
  const padding = Array.from({ length: count - said.length }, (_, n) => (n === 0 ? ` ${n + 1} ` : `${n + 1} `))
  return [...said, ...padding]
}
