/**
 * Runs a tool server as a child process, over its standard input and output.
 *
 * Its output is read within the limits of `LineTransport`; output beyond them ends the connection. Its standard error is read in pieces,
 * between turns of the event loop.
 *
 * It gets the few variables that every process needs and those of its configuration, and no key of Holdfast.
 *
 * StdioTransport.P1. The process ends with the scope, together with its children: SIGTERM to its process group, SIGKILL after `GRACE`.
 */
import { getDefaultEnvironment } from "@modelcontextprotocol/client/stdio"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as PlatformError from "effect/PlatformError"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { ChildProcess, ChildProcessSpawner } from "effect/process"
import type { ToolServerReach } from "../ToolServerConfig.ts"
import { StartError, type ServerTransport } from "../Connection.ts"
import { LineTransport } from "./LineTransport.ts"

/** Between SIGTERM and SIGKILL. */
const GRACE = Duration.seconds(2)

/** Characters of its last output on standard error that are kept, to report why it ended. */
const KEPT_OUTPUT = 400

/** How long its remaining output is read after its exit. Limited, because a grandchild may hold the pipe open. */
const LAST_OUTPUT_LIMIT = Duration.millis(200)

/** The processes that are killed if this process ends without closing its scopes. */
export interface Children {
  readonly add: (pid: number) => void
  readonly delete: (pid: number) => void
}

/** Starts the process. `conceal` redacts its secrets in its last output. */
export const make = Effect.fnUntraced(function* (
  { args, command, cwd, env }: Extract<ToolServerReach, { readonly type: "stdio" }>,
  children: Children,
  conceal: (text: string) => string
): Effect.fn.Return<ServerTransport, StartError, ChildProcessSpawner.ChildProcessSpawner | Scope.Scope> {
  const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
  // Registered before the start, so that this finalizer runs after the process has ended.
  const pids: Array<number> = []
  yield* Effect.addFinalizer(() => Effect.sync(() => pids.forEach(children.delete)))
  const child = yield* spawner
    .spawn(
      ChildProcess.make(command, args, {
        env: { ...getDefaultEnvironment(), ...env },
        killSignal: "SIGTERM",
        forceKillAfter: GRACE,
        ...(cwd === undefined ? undefined : { cwd })
      })
    )
    .pipe(Effect.mapError((error) => new StartError({ message: `it could not be started: ${causeOf(error)}` })))
  pids.push(child.pid)
  children.add(child.pid)

  const lost = yield* Deferred.make<string>()
  const input = yield* Queue.unbounded<string>()
  const transport = yield* Effect.clockWith((clock) =>
    Effect.sync(
      () =>
        new LineTransport(
          (line) => void Queue.offerUnsafe(input, line),
          () => clock.currentTimeMillisUnsafe()
        )
    )
  )
  const end = (why: string) => Deferred.succeed(lost, why)

  let output = ""
  const listening = yield* Effect.forkScoped(
    Stream.runForEach(Stream.decodeText(child.stderr), (text) =>
      Effect.andThen(
        Effect.sync(() => {
          output = conceal(output + text).slice(-KEPT_OUTPUT) // in this order: half a secret is not recognised
        }),
        Effect.yieldNow
      )
    ).pipe(Effect.ignore)
  )
  const lines = Stream.fromQueue(input).pipe(
    Stream.rechunk(1), // so that a line counts as sent only when the pipe takes it
    Stream.tap((line) => Effect.sync(() => transport.sent(line)))
  )
  yield* Effect.forkScoped(Effect.ignore(Stream.run(Stream.encodeText(lines), child.stdin)))
  const reading = yield* Stream.runForEach(child.stdout, (chunk) => transport.read(chunk)).pipe(
    // `read` fails with a text: why the connection is at its end.
    Effect.catch((error) => (typeof error === "string" ? end(error) : Effect.void)),
    Effect.forkScoped
  )
  yield* child.exitCode.pipe(
    Effect.matchEffect({
      onFailure: (error) => Effect.succeed(/'(SIG\w+)'/.exec(causeOf(error))?.[1] ?? causeOf(error)),
      onSuccess: (code) => Effect.succeed(`exit code ${code}`)
    }),
    Effect.tap(Effect.timeoutOption(Fiber.awaitAll([reading, listening]), LAST_OUTPUT_LIMIT)),
    Effect.flatMap((how) => end(`its process ended (${how})${lastLineOf(output)}`)),
    Effect.forkScoped
  )
  return { transport, lost }
})

// --- internal

/** The cause in the platform's own words. The error's `message` quotes the arguments, which may have keys in them. */
const causeOf = ({ reason }: PlatformError.PlatformError): string =>
  reason.cause instanceof Error ? reason.cause.message : reason._tag

const lastLineOf = (output: string): string => {
  const line = output.toWellFormed().trimEnd().split("\n").at(-1)?.trim() ?? ""
  return line === "" ? "" : `; its last output: ${line}`
}
