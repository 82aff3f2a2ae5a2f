/** A service with a gateway to an endpoint that a test scripts. */
import type { Profile } from "@holdfast/policy"
import { type Dialect, Heartbeats } from "@holdfast/providers/dialects"
import * as ScriptedServer from "@holdfast/simulated/testing"
import { Effect, type Redacted } from "effect"
import * as Http from "node:http"
import * as Configurations from "../config/Configurations.ts"
import * as Service from "../service/Service.ts"
import * as RawEndpoint from "./RawEndpoint.ts"

/** Of runners that share a database. */
export const SHARDS = 2

/** An answer of the endpoint. */
export type Answer = Parameters<typeof RawEndpoint.start>[0]

export interface Rig {
  readonly answer: Answer
  readonly retry?: Profile.RetrySettings
  readonly database?: string
  readonly file?: object
  /** A PostgreSQL in the place of `database`, and the port at which this runner listens for the others. */
  readonly postgres?: { readonly url: Redacted.Redacted; readonly runnerPort: number }
  readonly endpoint?: Effect.Success<ReturnType<typeof RawEndpoint.start>>
}

/** Starts both. */
export const start = Effect.fnUntraced(function* ({
  answer,
  database = ":memory:",
  endpoint: given,
  file = {},
  postgres,
  retry = Service.QUICK
}: Rig) {
  const endpoint = given ?? (yield* RawEndpoint.start(answer))
  const config = Configurations.config({
    file: {
      server: { port: 0 },
      database: { path: database },
      providers: {
        own: { type: "openai-compatible", baseUrl: `${endpoint.url}/v1`, apiKeyEnv: ["OWN_KEY", "SPARE_KEY"] },
        claude: { type: "anthropic", baseUrl: endpoint.url, apiKeyEnv: ["CLAUDE_KEY"] }
      },
      model: "own/m",
      ...file
    },
    environment: { OWN_KEY: "sk-own-0123456789", SPARE_KEY: "sk-spare-0123456789", CLAUDE_KEY: "sk-claude-0123456789" }
  })
  const shared = postgres && {
    database: { ...config.database, url: postgres.url },
    cluster: { runner: { host: "127.0.0.1", port: postgres.runnerPort }, shards: SHARDS }
  }
  const service = yield* Service.start({
    config: { ...config, ...shared, retry },
    provider: yield* ScriptedServer.start()
  })
  return { endpoint, service }
})

/** What a client received. */
export interface Received {
  readonly status: number
  readonly headers: Http.IncomingHttpHeaders
  /** As they came: names and values in turn. */
  readonly rawHeaders: ReadonlyArray<string>
  readonly body: Buffer
  /** The connection broke off before the end. */
  readonly isCut: boolean
  /** `102` answers before the head. */
  readonly processing: number
}

/** Posts JSON to the gateway and reads the answer, whole or cut. Interruption disconnects. */
export const post = (
  port: number,
  path: string,
  body: unknown,
  headers: Http.OutgoingHttpHeaders = {}
): Effect.Effect<Received, Error> =>
  Effect.callback((resume) => {
    let processing = 0
    const request = Http.request({
      port,
      host: "127.0.0.1",
      path,
      method: "POST",
      agent: false,
      headers: { "content-type": "application/json", ...headers }
    })
    request.on("information", ({ statusCode }) => void (processing += statusCode === 102 ? 1 : 0))
    request.on("error", (error) => resume(Effect.fail(error)))
    request.on("response", (response) => {
      const pieces: Array<Buffer> = []
      let isCut = true
      response.on("data", (piece: Buffer) => pieces.push(piece))
      response.on("error", () => {})
      response.on("end", () => (isCut = false))
      response.on("close", () =>
        resume(
          Effect.succeed({
            status: response.statusCode ?? 0,
            headers: response.headers,
            rawHeaders: response.rawHeaders,
            body: Buffer.concat(pieces),
            isCut,
            processing
          })
        )
      )
    })
    request.end(typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body))
    return Effect.sync(() => request.destroy())
  })

/** A stream without the heartbeats before its first byte: on a busy machine an answer may take longer than their first one. */
export const withoutBeats = (format: Dialect.Format, body: Buffer): Buffer => {
  const beat = Heartbeats.of(format, "events")
  let start = 0
  while (body.subarray(start, start + beat.length).equals(beat)) start += beat.length
  return body.subarray(start)
}

/** A chat completions stream with a text. */
export const chatStream = (text: string): Buffer =>
  Buffer.from(
    [
      { id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta: { role: "assistant", content: "" } }] },
      ...Array.from(text, (content) => ({ id: "c", choices: [{ index: 0, delta: { content }, x_unknown: 1 }] })),
      { id: "c", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
      { id: "c", choices: [], usage: { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 } }
    ]
      .map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
      .join("") + "data: [DONE]\n\n"
  )

/** Sends a stream of events. */
export const sendStream = ({ response }: RawEndpoint.Received, bytes: Buffer): void => {
  response.writeHead(200, { "content-type": "text/event-stream", "x-request-id": "r-1" })
  response.end(bytes)
}

/** Sends an error. */
export const sendError = (
  { response }: RawEndpoint.Received,
  status: number,
  headers: Http.OutgoingHttpHeaders = {}
): void => {
  response.writeHead(status, { "content-type": "application/json", ...headers })
  response.end(JSON.stringify({ error: { message: `status ${status}`, type: "x" } }))
}
