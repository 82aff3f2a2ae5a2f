/** Tests a fake process of a tool server: its input, its output, and the report of its end. */
import { assert, describe, it } from "@effect/vitest"
import { type Cause, Deferred, Effect, Exit, Fiber, PlatformError, Queue, Redacted, Scope, Sink, Stream } from "effect"
import { TestClock } from "effect/testing"
import { type ChildProcess, ChildProcessSpawner } from "effect/process"
import { MAX_MESSAGE_BYTES } from "../../src/transport/LineTransport.ts"
import * as StdioTransport from "../../src/transport/StdioTransport.ts"

const reach = { type: "stdio", command: "serve-tools", args: ["--all"], env: {}, cwd: undefined } as const

type Exited = Effect.Effect<ChildProcessSpawner.ExitCode, PlatformError.PlatformError>

/** Starts it; `stdout`, `stderr` and `exits` control the process. */
const start = Effect.fnUntraced(function* (
  over: Partial<Parameters<typeof StdioTransport.make>[0]> = {},
  conceal: (text: string) => string = (text) => text
) {
  const stdout = yield* Queue.unbounded<Uint8Array, PlatformError.PlatformError | Cause.Done>()
  const stderr = yield* Queue.unbounded<Uint8Array, PlatformError.PlatformError | Cause.Done>()
  const exit = yield* Deferred.make<ChildProcessSpawner.ExitCode, PlatformError.PlatformError>()
  const written: Array<string> = []
  const spawned: Array<ChildProcess.Command> = []
  const spawner = ChildProcessSpawner.make((command) =>
    Effect.sync(() => {
      spawned.push(command)
      return ChildProcessSpawner.makeHandle({
        pid: ChildProcessSpawner.ProcessId(7),
        exitCode: Deferred.await(exit),
        isRunning: Effect.succeed(true),
        kill: () => Effect.void,
        stdin: Sink.forEach((bytes: Uint8Array) => Effect.sync(() => written.push(Buffer.from(bytes).toString()))),
        stdout: Stream.fromQueue(stdout),
        stderr: Stream.fromQueue(stderr),
        all: Stream.empty,
        getInputFd: () => Sink.drain,
        getOutputFd: () => Stream.empty,
        unref: Effect.succeed(Effect.void)
      })
    })
  )
  const children = new Set<number>()
  const way = yield* StdioTransport.make({ ...reach, ...over }, noting(children), conceal).pipe(
    Effect.provideService(ChildProcessSpawner.ChildProcessSpawner, spawner)
  )
  const says = (queue: typeof stdout, text: string) => Queue.offer(queue, new TextEncoder().encode(text))
  return {
    way,
    children,
    spawned,
    written,
    prints: (text: string) => says(stdout, text),
    warns: (text: string) => says(stderr, text),
    /** Breaks its output. */
    breaks: Queue.fail(stdout, broken("read EIO")),
    /** Ends it, with both pipes. */
    ends: (how: Exited) =>
      Effect.all([Queue.end(stdout), Queue.end(stderr), Deferred.complete(exit, how)], { discard: true }),
    /** Ends it while a grandchild holds the pipes. */
    leaves: (how: Exited) => Deferred.complete(exit, how),
    lost: Effect.forkChild(Deferred.await(way.lost), { startImmediately: true })
  }
})

const noting = (pids: Set<number>): StdioTransport.Children => ({
  add: (pid) => pids.add(pid),
  delete: (pid) => pids.delete(pid)
})

const exitCode = (code: number): Exited => Effect.succeed(ChildProcessSpawner.ExitCode(code))
const broken = (message: string) =>
  PlatformError.systemError({ _tag: "Unknown", module: "ChildProcess", method: "wait", cause: new Error(message) })
const failed = (message: string): Exited => Effect.fail(broken(message))

describe("a tool server's process", () => {
  it.effect("StdioTransport.P1: is registered by its id while the scope is open", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { children } = yield* Scope.provide(start(), scope)
      assert.deepStrictEqual(Array.from(children), [7])
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(Array.from(children), [])
    })
  )

  it.effect("gets the variables of its configuration, and its folder", () =>
    Effect.gen(function* () {
      const { spawned } = yield* start({ env: { TOKEN: Redacted.make("t") }, cwd: "/srv" })
      const options = (command: ChildProcess.Command | undefined) =>
        command?._tag === "StandardCommand" ? command : assert.fail()
      const { args, command, options: given } = options(spawned[0])
      assert.deepStrictEqual([command, args, given.cwd], ["serve-tools", ["--all"], "/srv"])
      assert.isTrue(Redacted.isRedacted(given.env?.["TOKEN"]))
      const other = yield* start()
      assert.notProperty(options(other.spawned[0]).options, "cwd")
    }).pipe(Effect.scoped)
  )

  it.effect("gets one message a line, and is read line by line", () =>
    Effect.gen(function* () {
      const { prints, way, written } = yield* start()
      const heard = yield* Queue.unbounded<unknown>()
      Object.assign(way.transport, { onmessage: (message: unknown) => Queue.offerUnsafe(heard, message) })
      const ping = { jsonrpc: "2.0", id: 1, method: "ping" } as const
      yield* Effect.promise(() => way.transport.send(ping))
      yield* Effect.repeat(Effect.yieldNow, { until: () => written.length > 0 })
      assert.deepStrictEqual(written, [`${JSON.stringify(ping)}\n`])
      yield* prints('{"jsonrpc":"2.0","id"')
      yield* prints(':1,"result":{}}\n')
      assert.deepStrictEqual(yield* Queue.take(heard), { jsonrpc: "2.0", id: 1, result: {} })
    }).pipe(Effect.scoped)
  )

  it.effect("that prints too much ends for that reason, and not for a pipe that breaks", () =>
    Effect.gen(function* () {
      const { prints, way } = yield* start()
      yield* prints("x".repeat(MAX_MESSAGE_BYTES + 1))
      assert.strictEqual(yield* Deferred.await(way.lost), "it sent a message of more than 8 MiB, and was stopped")
      const other = yield* start()
      yield* other.breaks
      yield* other.ends(exitCode(0))
      assert.strictEqual(yield* Deferred.await(other.way.lost), "its process ended (exit code 0)")
    }).pipe(Effect.scoped)
  )

  it.effect("ends with its exit code and the last line of its output", () =>
    Effect.gen(function* () {
      const lost = (how: Exited, ...words: ReadonlyArray<string>) =>
        Effect.gen(function* () {
          const process = yield* start()
          for (const text of words) yield* process.warns(text)
          yield* process.ends(how)
          return yield* Deferred.await(process.way.lost)
        })
      assert.strictEqual(yield* lost(exitCode(3)), "its process ended (exit code 3)")
      assert.strictEqual(yield* lost(exitCode(3), "\n \n"), "its process ended (exit code 3)")
      assert.strictEqual(
        yield* lost(exitCode(3), "first\nThere is no ", "database. \n\n"),
        "its process ended (exit code 3); its last output: There is no database."
      )
      assert.strictEqual(
        yield* lost(failed("Process interrupted due to receipt of signal: 'SIGKILL'")),
        "its process ended (SIGKILL)"
      )
      assert.strictEqual(yield* lost(failed("no such process")), "its process ended (no such process)")
    }).pipe(Effect.scoped)
  )

  it.effect("has its secrets redacted before its output is cut to the last 400 characters", () =>
    Effect.gen(function* () {
      const conceal = (text: string) => text.replaceAll("SECRET", "[redacted]")
      const process = yield* start({}, conceal)
      yield* process.warns(`SEC`)
      yield* process.warns(`RET${"x".repeat(395)}`)
      yield* process.ends(exitCode(1))
      assert.strictEqual(
        yield* Deferred.await(process.way.lost),
        `its process ended (exit code 1); its last output: cted]${"x".repeat(395)}`
      )
    }).pipe(Effect.scoped)
  )

  it.effect("that has ended is waited for only a short time if a pipe stays open", () =>
    Effect.gen(function* () {
      const process = yield* start()
      const lost = yield* process.lost
      yield* process.leaves(exitCode(0))
      yield* TestClock.adjust("199 millis")
      assert.isUndefined(lost.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(yield* Fiber.join(lost), "its process ended (exit code 0)")
    }).pipe(Effect.scoped)
  )

  it.effect("that cannot be started reports the cause, without its arguments", () =>
    Effect.gen(function* () {
      const spawner = ChildProcessSpawner.make(() =>
        Effect.fail(
          PlatformError.systemError({
            _tag: "NotFound",
            module: "ChildProcess",
            method: "spawn",
            cause: new Error("spawn serve-tools ENOENT")
          })
        )
      )
      const { message } = yield* Effect.flip(
        Effect.provideService(
          StdioTransport.make(reach, noting(new Set()), String),
          ChildProcessSpawner.ChildProcessSpawner,
          spawner
        )
      )
      assert.strictEqual(message, "it could not be started: spawn serve-tools ENOENT")
    }).pipe(Effect.scoped)
  )
})
