/**
 * Calls a running service over HTTP, for the commands that leave work to it and read it later.
 *
 * A call that cannot reach the service is made again for some seconds: every call of these commands can be repeated. A refusal is the
 * problem's own words. Nothing of the token is in a message.
 */
import { Ndjson } from "@holdfast/wire"
import { Data, Effect, Option, Schedule, Schema, Stream } from "effect"
import { Flag } from "effect/cli"
import type { Values } from "../../config/Config.ts"
import type { Environment } from "../../config/reading/Environment.ts"
import { Refused } from "../Ended.ts"
import * as ExitCode from "../ExitCode.ts"
import * as Address from "./Address.ts"

/** `--url`, the same for every command that needs a running service. */
export const urlFlag = Flag.String("url").pipe(
  Flag.withMetavar("URL"),
  Flag.withDescription("Address of the running service (default: HOLDFAST_URL, or server.host and server.port)"),
  Flag.optional
)

/** `--model`, the same for every command that sends prompts to a running service. */
export const modelFlag = Flag.String("model").pipe(
  Flag.withAlias("m"),
  Flag.withMetavar("PROVIDER/MODEL"),
  Flag.withDescription("Model to ask instead of the service's own"),
  Flag.optional
)

/** The service answered, and refused. */
export class Refusal extends Data.TaggedError("Refusal")<{
  readonly status: number
  /** The words of the problem. */
  readonly message: string
}> {}

/** The service did not answer. */
export class Unreachable extends Data.TaggedError("Unreachable")<{ readonly message: string }> {}

/** One call. */
export interface Request {
  readonly method?: "GET" | "POST" | "PATCH" | "DELETE"
  /** From `/v1` on. */
  readonly path: string
  readonly body?: unknown
}

/** Makes calls to one service. */
export interface ServiceClient {
  /** Makes a call and reads its answer; an answer without a body is `undefined`. */
  readonly call: <A>(request: Request, schema: Schema.Decoder<A>) => Effect.Effect<A, Refusal | Unreachable>
  /** Makes a call whose answer has nothing to read. */
  readonly send: (request: Request) => Effect.Effect<void, Refusal | Unreachable>
  /** Reads lines of JSON as they come. Ends where the answer ends, whole or broken off. */
  readonly lines: (path: string) => Stream.Stream<string, Refusal | Unreachable>
}

/** The client of the service that the flags, the environment and the configuration name. */
export const of = (
  url: Option.Option<string>,
  environment: Environment,
  server: Values["server"]
): Effect.Effect<ServiceClient, Refused> =>
  Effect.fromResult(Address.of(Option.getOrUndefined(url), environment, server)).pipe(
    Effect.mapError((message) => new Refused({ message, exitCode: ExitCode.USAGE })),
    Effect.map(make)
  )

/** The client of the service at an address. */
export const make = ({ token, url }: Address.Address): ServiceClient => {
  const once = (request: Request, accept: string): Effect.Effect<Response, Unreachable> =>
    Effect.tryPromise({
      try: (signal) =>
        fetch(`${url}${request.path}`, {
          method: request.method ?? "GET",
          signal,
          headers: {
            accept,
            ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
            ...(request.body === undefined ? {} : { "content-type": "application/json" })
          },
          ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) })
        }),
      catch: (cause) =>
        new Unreachable({
          message: `The service at ${url} does not answer (${reasonOf(cause)}). Start it with \`holdfast serve\`, or name it with --url.`
        })
    })
  const answered = (request: Request, accept: string): Effect.Effect<Response, Refusal | Unreachable> =>
    once(request, accept).pipe(
      Effect.flatMap((response) =>
        response.ok ? Effect.succeed(response) : Effect.flatMap(refusalOf(response), Effect.fail)
      ),
      Effect.retry({ schedule: AGAIN, while: isPassing })
    )
  const textOf = (response: Response): Effect.Effect<string, Unreachable> =>
    Effect.tryPromise({
      try: () => response.text(),
      catch: () => new Unreachable({ message: `The answer of the service at ${url} broke off.` })
    })

  return {
    call: (request, schema) =>
      Effect.flatMap(answered(request, "application/json"), (response) =>
        Effect.flatMap(textOf(response), (text) =>
          Effect.mapError(
            Schema.decodeUnknownEffect(Schema.fromJsonString(schema))(text),
            () => new Unreachable({ message: `What answers at ${url} is not a Holdfast service of this version.` })
          )
        )
      ),
    send: (request) =>
      Effect.flatMap(answered(request, "application/json"), (response) => Effect.asVoid(textOf(response))),
    lines: (path) =>
      Stream.unwrap(
        Effect.map(answered({ path }, Ndjson.CONTENT_TYPE), ({ body }) =>
          body === null
            ? Stream.empty
            : Stream.fromAsyncIterable(body, () => new BrokenOff()).pipe(
                // The caller knows by the last event whether it was whole.
                Stream.catchTag("BrokenOff", () => Stream.empty),
                Stream.decodeText(),
                Stream.splitLines,
                Stream.filter((line) => line.trim() !== "")
              )
        )
      )
  }
}

// --- internal

class BrokenOff extends Data.TaggedError("BrokenOff") {}

/** Some seconds: a service that restarts is back by then. */
const AGAIN = Schedule.exponential("200 millis").pipe(Schedule.upTo({ duration: "5 seconds" }))

/** 503: the service starts or stops, or its database is away. */
const isPassing = (error: Refusal | Unreachable): boolean => error._tag === "Unreachable" || error.status === 503

const ProblemBody = Schema.fromJsonString(
  Schema.Struct({
    title: Schema.optionalKey(Schema.String),
    detail: Schema.optionalKey(Schema.String),
    errors: Schema.optionalKey(Schema.Array(Schema.Struct({ path: Schema.String, message: Schema.String })))
  })
)

const refusalOf = (response: Response): Effect.Effect<Refusal> =>
  Effect.promise(() => response.text().catch(() => "")).pipe(
    Effect.map((text) => {
      const problem = Option.getOrUndefined(Schema.decodeUnknownOption(ProblemBody)(text))
      const errors = (problem?.errors ?? []).map(({ message, path }) => (path === "" ? message : `${path}: ${message}`))
      if (response.status === 401) return new Refusal({ status: 401, message: NO_TOKEN })
      const detail =
        errors.length > 0 ? errors.join("; ") : (problem?.detail ?? problem?.title ?? `status ${response.status}`)
      return new Refusal({ status: response.status, message: detail })
    })
  )

const NO_TOKEN = "The service needs its token. Export HOLDFAST_TOKEN, or the variable of server.tokenEnv, with it."

/** `ECONNREFUSED` and the like; `fetch` wraps it. */
const reasonOf = (error: unknown): string => {
  const cause: unknown = error instanceof Error ? (error.cause ?? error) : error
  if (typeof cause === "object" && cause !== null && "code" in cause) return String(cause.code)
  return cause instanceof Error ? cause.message : String(cause)
}
