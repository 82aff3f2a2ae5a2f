/**
 * Decodes the text of one command. A refusal names its mistakes.
 *
 * Commands are closed: an unknown key is an error, so a misspelt one is never ignored. A refusal has the id and the type of the command,
 * where they can be read.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import * as JsonShape from "../values/JsonShape.ts"
import * as Quote from "../values/Quote.ts"

const LONGEST_ID = 64

/** Chosen by the client; the response has the same. */
export const RequestId = Schema.Union([
  Schema.String.check(Schema.isMaxLength(LONGEST_ID, { message: `expected ${LONGEST_ID} characters at most` })),
  Schema.Finite
]).annotate({ message: `expected a number, or a text of ${LONGEST_ID} characters at most` })
export type RequestId = typeof RequestId.Type

/** The response to a text that is refused. */
export interface Refusal {
  readonly id?: RequestId
  readonly type: "response"
  readonly command?: string
  readonly success: false
  readonly code: "invalid-request"
  readonly error: string
}

/** The response to a text that cannot be read at all. */
export const unreadable = (error: string): Refusal => ({
  type: "response",
  success: false,
  code: "invalid-request",
  error
})

/** Makes the decoder of commands. `noun` is what one text is called; `types` are the commands' types. */
export const decoder = <A>(noun: string, types: ReadonlyArray<string>, schema: Schema.ConstraintDecoder<A>) => {
  const decodeCommand = Schema.decodeUnknownResult(schema, { onExcessProperty: "error", errors: "all" })
  return (text: string): Result.Result<A, Refusal> => {
    const excess = JsonShape.excessOf(text)
    if (excess !== undefined) return refused({}, `The ${noun} ${Quote.of(text)} has ${excess}.`)
    const parsed: unknown = JsonShape.parse(text)
    if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
      return refused(
        {},
        `The ${noun} ${Quote.of(text)} is no JSON object. Expected one such as {"id":"1","type":"get_state"}.`
      )
    }
    const { id, type }: { readonly id?: unknown; readonly type?: unknown } = parsed
    const known = isRequestId(id) ? { id } : {}
    if (typeof type !== "string" || !types.includes(type)) {
      const isText = typeof type === "string"
      const found = isText ? Quote.of(type) : Quote.clip(JSON.stringify(type) ?? "missing")
      const given = isText ? { ...known, command: Quote.clip(type) } : known
      return refused(given, `"type" is ${found}. Expected one of ${types.join(", ")}.`)
    }
    const decoded = decodeCommand(parsed)
    return Result.isSuccess(decoded)
      ? Result.succeed(decoded.success)
      : refused({ ...known, command: type }, problemsOf(decoded.failure.issue))
  }
}

// --- internal

const isRequestId = Schema.is(RequestId)

const refused = (given: Pick<Refusal, "id" | "command">, error: string): Result.Result<never, Refusal> =>
  Result.fail({ ...given, ...unreadable(error) })

const formatIssues = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (issue) => (issue._tag === "UnexpectedKey" ? "unknown key" : SchemaIssue.defaultLeafHook(issue))
})

/** More problems than a person corrects at once. */
const MOST_PROBLEMS = 5

const problemsOf = (issue: SchemaIssue.Issue): string =>
  formatIssues(issue)
    .issues.slice(0, MOST_PROBLEMS)
    .map(({ message, path = [] }) => {
      const where = path.map((segment) => String(typeof segment === "object" ? segment.key : segment)).join(".")
      return where === "" ? message : `${JSON.stringify(Quote.clip(where))}: ${message}`
    })
    .join("; ")
