/**
 * Sends a message within limits: posts it over HTTP, or gives it to a command on its standard input.
 *
 * A receiver from a request is reached at a public address only. The checked address is the connected one, so a name that is resolved
 * anew cannot lead elsewhere. Errors never quote the address or a command's
 * arguments, which may be secrets.
 *
 * Redirects are not followed: a status of 3xx is a failure. An attempt ends after `LIMIT_MS`, and at most `MOST_BYTES` of its answer are
 * read, whatever the receiver does.
 */
import ipaddr from "ipaddr.js"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Classification } from "@holdfast/policy"
import type { Failure } from "@holdfast/wire"
import { Clock, Duration, Effect, Redacted, Stream } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import type { LookupAddress } from "node:dns"
import { lookup } from "node:dns/promises"
import { isIP, type LookupFunction } from "node:net"
import { ChildProcess, type ChildProcessSpawner } from "effect/process"
import { causeOf } from "../../base/system/PlatformFailure.ts"
import type { Content } from "./NoticeFormat.ts"

/** The time limit of one attempt. */
export const LIMIT_MS = 10_000

/** The most bytes of an answer that are read. */
export const MOST_BYTES = 65_536

/** A message as it is posted. */
interface Post {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Posts a message. A status other than 2xx is a failure. */
export type Posting = (post: Post) => Effect.Effect<void, Failure.Failure>

/** To a receiver that the operator configured: any address, through the configured proxies. */
export const viaClient =
  (client: HttpClient.HttpClient): Posting =>
  ({ body, headers, url }) => {
    const { "content-type": type = "application/json", ...others } = headers
    const request = HttpClientRequest.post(url).pipe(
      HttpClientRequest.setHeaders(others),
      HttpClientRequest.bodyText(body, type)
    )
    return Effect.gen(function* () {
      const response = yield* HttpClient.withScope(client).execute(request)
      const parts: Array<Uint8Array> = []
      let size = 0
      // the rest is not read.
      yield* response.stream.pipe(
        Stream.takeUntil((part) => (size += part.byteLength) >= MOST_BYTES),
        Stream.runForEach((part) => Effect.sync(() => parts.push(part)))
      )
      yield* judged(response.status, response.headers, Buffer.concat(parts).toString("utf8"))
    }).pipe(
      Effect.scoped,
      Effect.catchTag("HttpClientError", ({ reason }) => thrown(reason)),
      timed
    )
  }

/** To a receiver that a client named: the addresses that were checked are those that are connected to. */
export const toPublic =
  ({ isAllowed = isPublic, addressesOf = resolve }: Network = {}): Posting =>
  (post) =>
    Effect.gen(function* () {
      const host = hostOf(new URL(post.url))
      const family = isIP(host)
      const addresses =
        family === 0
          ? yield* Effect.catch(Effect.tryPromise({ try: () => addressesOf(host), catch: (error) => error }), thrown)
          : [{ address: host, family }]
      if (!addresses.every(({ address }) => isAllowed(address))) return yield* Effect.fail(NOT_PUBLIC)
      const dispatcher = yield* NodeHttpClient.makeDispatcherOptions({ connect: { lookup: pinnedTo(addresses) } })
      const client = Effect.provideService(NodeHttpClient.makeUndici, NodeHttpClient.Dispatcher, dispatcher)
      yield* viaClient(yield* client)(post)
    }).pipe(Effect.scoped, timed)

/** An attempt that fails after `LIMIT_MS`. */
export const timed = (attempt: Effect.Effect<void, Failure.Failure>): Effect.Effect<void, Failure.Failure> =>
  Effect.timeoutOrElse(attempt, {
    duration: Duration.millis(LIMIT_MS),
    orElse: () => Effect.fail(Classification.timedOut("first-content", LIMIT_MS))
  })

/** How names are resolved, and which addresses may be connected to. */
interface Network {
  readonly addressesOf?: Lookup
  readonly isAllowed?: (address: string) => boolean
}

/** Resolves a name to its addresses. */
export type Lookup = (hostname: string) => Promise<ReadonlyArray<LookupAddress>>

/** A webhook of the configuration. */
interface Webhook {
  readonly url: Redacted.Redacted
  readonly headers: Readonly<Record<string, Redacted.Redacted>>
}

/** Sends a notice, in one attempt. */
export type SendContent = (content: Content) => Effect.Effect<void, Failure.Failure>

/** Posts the notice, redacted once more, whatever its format made of it. A status other than 2xx is a failure. */
export const webhook = (
  { headers, url }: Webhook,
  client: HttpClient.HttpClient,
  redact: (text: string) => string
): SendContent => {
  const post = viaClient(client)
  const own = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), Redacted.value(value)])
  )
  return ({ headers, id, text }) =>
    post({
      url: Redacted.value(url),
      headers: { ...headers, "idempotency-key": id, ...own },
      body: redact(text)
    })
}

/** Runs a program with the notice, redacted as well, on its standard input. An exit code other than 0 is a failure. */
export const command =
  (
    [program, ...args]: readonly [string, ...ReadonlyArray<string>],
    spawner: ChildProcessSpawner.ChildProcessSpawner["Service"],
    redact: (text: string) => string
  ): SendContent =>
  ({ text }) => {
    const input = new TextEncoder().encode(`${redact(text)}\n`)
    const command = ChildProcess.make(program, args, { stdin: Stream.make(input), stdout: "ignore", stderr: "ignore" })
    return spawner.exitCode(command).pipe(
      Effect.catchTag("PlatformError", (error) => Effect.fail(failedRun(`${program} did not run: ${causeOf(error)}.`))),
      Effect.flatMap((code) => (code === 0 ? Effect.void : Effect.fail(failedRun(`${program} ended with ${code}.`)))),
      timed
    )
  }

/** Whether an IP address is public: its block is registered for nothing else, and it carries no IPv4 address. Text that is no address is not. */
export const isPublic = (address: string): boolean => {
  if (isIP(address) === 0) return false
  const parsed = ipaddr.parse(address)
  return parsed.range() === "unicast" && !(parsed instanceof ipaddr.IPv6 && parsed.match(COMPATIBLE))
}

/** The name or IP address of a URL's host; that of IPv6 without its brackets. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, "$1")

/** Why an address in a request is refused, before it is resolved; `undefined`: it is not. */
export const refusalOf = (text: string): string | undefined => {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) {
    return "expected an http or https address"
  }
  if (url.username !== "" || url.password !== "") return "expected an address without a user"
  const host = hostOf(url)
  if ((isIP(host) !== 0 && !isPublic(host)) || /(?:^|\.)localhost\.?$/i.test(host)) {
    return "expected a public address: this one is private"
  }
  return undefined
}

// --- internal

const resolve: Lookup = (hostname) => lookup(hostname, { all: true })

/** Both forms of the platform's callback. */
const pinnedTo =
  (addresses: ReadonlyArray<LookupAddress>): LookupFunction =>
  (_hostname, { all }, done) =>
    all === true ? done(null, [...addresses]) : done(null, addresses[0]?.address ?? "", addresses[0]?.family)

const NOT_PUBLIC: Failure.Failure = {
  reason: "refused",
  message: "The address is private. Webhooks of requests reach public addresses only.",
  retryable: false
}

const thrown = (error: unknown): Effect.Effect<never, Failure.Failure> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.fail(Classification.ofThrown(error, now)))

const judged = (
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string
): Effect.Effect<void, Failure.Failure> =>
  status >= 200 && status < 300
    ? Effect.void
    : Effect.flatMap(Clock.currentTimeMillis, (now) =>
        Effect.fail(Classification.ofResponse({ status, headers, body, now }))
      )

const failedRun = (message: string): Failure.Failure => ({ reason: "unknown", message, retryable: true })

/** IPv6 addresses that carry an IPv4 address in a form that is out of use. */
const COMPATIBLE = ipaddr.IPv6.parseCIDR("::/96")
