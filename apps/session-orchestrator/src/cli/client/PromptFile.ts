/**
 * Reads a file of prompts: one prompt a line, or one JSON object a line (JSONL). A plain function.
 *
 * Every mistake is reported with its line, all at once, and nothing of such a file is used. Each prompt has an id, its own or one made
 * from its line, so the same file again gives the same ids. Equal lines of one file have different ids.
 */
import { Ids, JsonShape } from "@holdfast/wire"
import { WorkGroup } from "@holdfast/wire/api"
import { Predicate, Result, Schema } from "effect"
import { createHash } from "node:crypto"
import * as ConfigProblem from "../../config/reading/ConfigProblem.ts"

/** A prompt with its line, counted from 1. */
interface Entry {
  readonly line: number
  readonly turn: WorkGroup.SubmitTurn & { readonly turnId: Ids.TurnId }
}

/** What every line of a file has that does not give its own. */
export type SharedFields = Omit<WorkGroup.SubmitTurn, "prompt" | "turnId">

/** More mistakes than this are counted, not listed. */
const MOST_LISTED = 20

/**
 * The prompts of a file.
 *
 * @param name decides the form by its ending (`.jsonl`, `.ndjson`, `.txt`); any other name leaves that to the first line
 * @param salt is part of ids that are made from lines: another salt, other ids
 */
export const parse = (
  text: string,
  name: string,
  shared: SharedFields,
  salt = ""
): Result.Result<ReadonlyArray<Entry>, string> => {
  const lines = text
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .map((content, index) => ({ line: index + 1, content: content.trim() }))
    .filter(({ content }) => content !== "")
  if (lines.length === 0) return Result.fail(`${name}: there is no prompt in it.`)
  const isJson = isJsonLines(name, lines[0]?.content ?? "")
  const entries: Array<Entry> = []
  const problems: Array<string> = []
  /** Lines by the id that they have. */
  const taken = new Map<string, number>()
  for (const { content, line } of lines) {
    const read = isJson ? readJson(content) : readText(content)
    if (Result.isFailure(read)) {
      problems.push(`line ${line}: ${read.failure}`)
      continue
    }
    const { id, ...own } = read.success
    const submission = { ...shared, ...own }
    // Labels are no part of the work: the same work with other labels is the same turn.
    const turnId = id ?? madeId({ ...submission, tags: undefined, metadata: undefined }, salt, taken)
    const other = taken.get(turnId)
    if (other !== undefined) problems.push(`line ${line}: its id "${turnId}" is that of line ${other} as well`)
    taken.set(turnId, line)
    entries.push({ line, turn: { ...submission, turnId } })
  }
  return problems.length === 0 ? Result.succeed(entries) : Result.fail(reportOf(name, problems))
}

// --- internal

const { turnId: _, ...submission } = WorkGroup.SubmitTurn.fields

const Line = Schema.Struct({ id: Schema.optionalKey(Ids.TurnId), ...submission })
type Line = typeof Line.Type

const decodeLine = Schema.decodeUnknownResult(Line, { errors: "all", onExcessProperty: "error" })

/** The form by the name, or else by the first line. */
const isJsonLines = (name: string, first: string): boolean => {
  if (/\.(jsonl|ndjson)$/i.test(name)) return true
  return !/\.(txt|md)$/i.test(name) && isJsonObject(first)
}

const isJsonObject = (text: string): boolean => Predicate.isObject(JsonShape.parse(text))

/** A prompt is text. A line of JSON was meant for the other form: as a prompt, its id and settings would be lost. */
const readText = (content: string): Result.Result<Line, string> =>
  isJsonObject(content) || /^\{\s*"[^"]*"\s*:/.test(content)
    ? Result.fail(
        "it is JSON, and this file has one prompt a line. Rename the file to end in .jsonl, where each line is such an object " +
          'and a prompt of JSON is written {"prompt": "..."}'
      )
    : Result.succeed({ prompt: content })

const readJson = (content: string): Result.Result<Line, string> => {
  if (!isJsonObject(content)) return Result.fail('expected a JSON object such as {"prompt": "Hello"}')
  const value = JsonShape.parse(content)
  return Result.mapError(decodeLine(value), ({ issue }) => ConfigProblem.firstOf(issue, value))
}

/** The same line again in a file counts up. */
const madeId = (submission: object, salt: string, taken: ReadonlyMap<string, number>): Ids.TurnId => {
  for (let copy = 0; ; copy++) {
    const hash = createHash("sha256")
      .update(JSON.stringify([salt, copy, submission]))
      .digest("hex")
    const id = `line-${hash.slice(0, 32)}`
    if (!taken.has(id)) return Ids.TurnId.make(id)
  }
}

const reportOf = (name: string, problems: ReadonlyArray<string>): string => {
  const rest = problems.length - MOST_LISTED
  const more = rest > 0 ? [`and ${rest} more`] : []
  return [`${name} has mistakes, and nothing was submitted:`, ...problems.slice(0, MOST_LISTED), ...more].join("\n  ")
}
