/**
 * Runs the service as a process with a configuration file, for tests.
 *
 * Process.P1. Its environment contains nothing but the test's variables.
 * Process.P2. It ends with the scope, in any state.
 * Process.P3. Every wait has a deadline; missing it fails with the whole output of the process.
 */
import type { TurnState } from "@holdfast/wire"
import { Duration, Effect, type Scope } from "effect"
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Socket from "../http/Socket.ts"
import { MAIN } from "./Program.ts"

/** A guard against hanging, many times what anything here takes; shorter than that of a test, which shows no output. */
const DEADLINE = Duration.seconds(150)

/** How a process ended: one of the two is null. */
export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

export interface SpawnOptions {
  readonly args: ReadonlyArray<string>
  readonly directory: string
  readonly env?: Readonly<Record<string, string>>
  /** The most file descriptors. */
  readonly descriptors?: number | undefined
}

export interface Spawned {
  readonly child: ChildProcess
  readonly stdout: () => string
  readonly stderr: () => string
  readonly exit: Effect.Effect<Exit, Error>
}

/** Runs the program with a command line. */
export const run = ({ args, descriptors, directory, env }: SpawnOptions): Effect.Effect<Spawned, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const program = [process.execPath, MAIN, ...args]
      const limited = ["sh", "-c", `ulimit -n ${descriptors} && exec "$@"`, "sh", ...program]
      const [command = "", ...rest] = descriptors === undefined ? program : limited
      const child = spawn(command, rest, {
        cwd: directory,
        env: { HOME: directory, PATH: process.env["PATH"], ...env },
        stdio: ["ignore", "pipe", "pipe"]
      })
      let stdout = ""
      let stderr = ""
      child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text))
      child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text))
      const closed = new Promise<Exit>((resolve) =>
        child.once("close", (code, signal) => resolve({ code, signal, stdout, stderr }))
      )
      return {
        child,
        stdout: () => stdout,
        stderr: () => stderr,
        exit: inTime(
          Effect.promise(() => closed),
          () => `The process did not end. It said:\n${stdout}${stderr}`
        )
      }
    }),
    ({ child }) => Effect.sync(() => void child.kill("SIGKILL")) // Process.P2
  )

export interface Options {
  readonly directory: string
  /** The content of the file; `server.port` is any free one by default. */
  readonly config: object
  readonly env?: Readonly<Record<string, string>>
  /** Further arguments of the command line. */
  readonly flags?: ReadonlyArray<string>
  readonly descriptors?: number
}

/** Starts `serve`, and waits until it listens. */
export const start = Effect.fnUntraced(function* ({ directory, config, descriptors, env = {}, flags = [] }: Options) {
  const file = writeConfig(directory, { server: { port: 0 }, ...config })
  const spawned = yield* run({ args: ["serve", "--config", file, ...flags], descriptors, directory, env })
  const { child, stderr, stdout } = spawned
  yield* Effect.raceFirst(
    eventually("it to listen", Effect.sync(stdout), (text) => text.includes("Ctrl-C stops")),
    Effect.flatMap(spawned.exit, (exit) => Effect.fail(new Error(`It did not start: ${exit.stderr}`)))
  )
  const port = Number(/listens on http:\/\/127\.0\.0\.1:(\d+)/.exec(stdout())?.[1])
  const call = (request: Socket.Request) => inTime(Socket.call(port, request), () => `No answer. ${stderr()}`)
  /** Asked again where the answer is late, as clients do. */
  const answered = (request: Socket.Request) =>
    Effect.map(
      eventually(`an answer of ${request.path}`, call(request), ({ status }) => !isLate(status)),
      ({ text }) => JSON.parse(text)
    )
  return {
    ...spawned,
    port,
    call,
    open: (request: Socket.Request) =>
      Effect.map(Socket.open(port, request), (live) => ({
        ...live,
        until: (part: string) => inTime(live.until(part), () => `Waited in vain to be told of ${part}. ${stderr()}`)
      })),
    create: (body: object = {}) =>
      Effect.map(answered({ path: "/v1/conversations", body }), ({ conversationId }): string => conversationId),
    state: (id: string): Effect.Effect<ShownState, Error> => answered({ path: `/v1/conversations/${id}` }),
    /** The state of a turn (rule X15). */
    turn: (turnId: string): Effect.Effect<TurnState.TurnState, Error> => answered({ path: `/v1/turns/${turnId}` }),
    /** The roles and texts of the history. */
    history: (id: string) =>
      Effect.map(answered({ path: `/v1/conversations/${id}/messages` }), ({ messages }) =>
        (messages as ReadonlyArray<HistoryMessage>).map(
          ({ role, content }) => `${role}: ${content.map((part) => part.text ?? part.type).join("")}`
        )
      ),
    /** Sends a signal, and waits for the end. */
    end: (signal: NodeJS.Signals) =>
      Effect.suspend(() => {
        child.kill(signal)
        return spawned.exit
      }),
    /** Its resident memory, in MiB. */
    memory: Effect.sync(() => residentMiB(child.pid))
  }
})

/** A client's view of a conversation, as far as tests need it. */
export interface ShownState {
  readonly status: "idle" | "running" | "retrying"
  readonly attempt?: number
  readonly retryAt?: number
  /** The present wait. */
  readonly retry?: { readonly asks?: object }
  readonly queued: ReadonlyArray<string>
}

/** Whether a busy machine was too late: its database for the service, or the request of a client for the server. */
export const isLate = (status: number): boolean => status === 503 || status === 408

/** A directory that is deleted with the scope. */
export const directory: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-service-"))),
  (name) => Effect.sync(() => fs.rmSync(name, { recursive: true, force: true }))
)

/** Writes a configuration file; text is written as it is. */
export const writeConfig = (directory: string, content: object | string): string => {
  const file = path.join(directory, "holdfast.config.json")
  fs.writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content))
  return file
}

/** Looks repeatedly until the condition holds, and returns the value. The longer it waits, the less often it looks. */
export const eventually = <A, E>(
  what: string,
  look: Effect.Effect<A, E>,
  isWanted: (seen: A) => boolean
): Effect.Effect<A, E | Error> => {
  let last: A | undefined
  const again = (since: number): Effect.Effect<A, E> =>
    Effect.flatMap(look, (seen) => {
      last = seen
      return isWanted(seen)
        ? Effect.succeed(seen)
        : Effect.andThen(Effect.sleep(pause(Date.now() - since)), again(since))
    })
  return inTime(
    Effect.suspend(() => again(Date.now())),
    () => `Waited in vain for ${what}. Last seen: ${JSON.stringify(last)}`
  )
}

/** Looks the same way at a value of this process. */
export const reaches = <A>(what: string, look: () => A, wanted: A): Effect.Effect<A, Error> =>
  eventually(what, Effect.sync(look), (seen) => seen === wanted)

// --- internal

interface HistoryMessage {
  readonly role: string
  readonly content: ReadonlyArray<{ readonly type: string; readonly text?: string }>
}

/**
 * Milliseconds between two looks: a tenth of the time waited. A look at another process costs both of them work, which on a busy machine
 * delays the awaited result.
 */
const pause = (waitedMs: number): number => Math.min(250, Math.max(10, waitedMs / 10))

/** Process.P3 */
const inTime = <A, E>(effect: Effect.Effect<A, E>, message: () => string): Effect.Effect<A, E | Error> =>
  Effect.timeoutOrElse(effect, {
    duration: DEADLINE,
    orElse: () => Effect.suspend(() => Effect.fail(new Error(message())))
  })

const residentMiB = (pid: number | undefined): number =>
  Number(execFileSync("ps", ["-o", "rss=", "-p", String(pid)], { encoding: "utf8" })) / 1024
