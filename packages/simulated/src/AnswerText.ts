/**
 * Reads a prompt's directive, and writes the answer of a simulated model.
 *
 * The answer explains to a new user what happened. The module is pure. A token is a word with the space after it, so an answer that is
 * cut after any token is a prefix of its text.
 */
import { durationInWords } from "./script/Description.ts"

/** A prompt, split into directive and text. */
interface Prompt {
  /** The script of the last line `simulate: ...`. */
  readonly directive: string | undefined
  /** The prompt without such lines. */
  readonly text: string
}

/** Splits a prompt. */
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

/** The facts of a turn that an answer states. */
export interface AnswerFacts {
  readonly prompt: string
  /** Requests of this turn that failed. */
  readonly failures: number
  /** Milliseconds since the turn began. */
  readonly elapsedMs: number
  /** The last message is a tool's result. */
  readonly afterTool: boolean
}

/** The tokens of an answer; exactly `count`, where given. */
export const answer = (facts: AnswerFacts, count?: number): ReadonlyArray<string> => {
  const text = [happened(facts), echo(facts), HINT].join(" ")
  return count === undefined ? tokens(text) : fill(tokens(text), count)
}

/** The reasoning of a simulated model. */
export const reasoning = (facts: AnswerFacts): ReadonlyArray<string> =>
  tokens(
    facts.failures === 0
      ? "Nothing has failed so far. I will say so and repeat what I was asked."
      : "I can only think this because somebody kept asking. I will say how often it took, and repeat what I was asked."
  )

/** The text of a refusal to answer. */
export const refusal: ReadonlyArray<string> = ["I ", "cannot ", "help ", "with ", "that."]

/** Splits a text into tokens; joined, they give the text again. */
export const tokens = (text: string): ReadonlyArray<string> => text.match(/\S+\s*/g) ?? []

// --- internal

const DIRECTIVE = /^\s*simulate:\s*(.*?)\s*$/

/** The most characters of a prompt that the answer repeats. */
const ECHO_LENGTH = 120

/** What is read of a prompt for that; it may have 30 MB. */
const READ_LENGTH = 4_096

const HINT =
  "I am a simulated model: what fails, and how, is part of my name. " +
  "Give Holdfast a provider's key and a real model answers instead."

const happened = ({ failures, elapsedMs }: AnswerFacts): string =>
  failures === 0
    ? "Nothing failed this time."
    : `You have just seen a turn outlive ${failures === 1 ? "a failure" : `${failures} failures`}` +
      (elapsedMs < 1000 ? "." : ` in ${durationInWords(elapsedMs)}.`)

const echo = ({ prompt, afterTool }: AnswerFacts): string => {
  const characters = Array.from(prompt.slice(0, READ_LENGTH).replaceAll(/\s+/g, " ").trim())
  const short =
    characters.length > ECHO_LENGTH || prompt.length > READ_LENGTH
      ? `${characters.slice(0, ECHO_LENGTH).join("")}…`
      : characters.join("")
  const wrote = short === "" ? "You wrote nothing else." : `You wrote: “${short}”.`
  return afterTool ? `The tool has answered. ${wrote}` : wrote
}

const fill = (words: ReadonlyArray<string>, count: number): ReadonlyArray<string> => {
  if (words.length >= count) return words.slice(0, count)
  const padding = Array.from({ length: count - words.length }, (_, n) => (n === 0 ? ` ${n + 1} ` : `${n + 1} `))
  return [...words, ...padding]
}
