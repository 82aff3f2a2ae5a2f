/** Starts programs for benchmarks, the service among them, and calls it over HTTP. */
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { here, type Tree } from "./Trees.ts"

/** The port in what a server prints when it listens. */
export const PORT = /(?:^|127\.0\.0\.1:)(\d{4,5})\b/m

/** A benchmark's folder, and the processes that it has started. Both are gone when it ends. */
export interface Place {
  readonly folder: string
  readonly children: Array<ChildProcess>
}

export const inPlace = async <A>(act: (place: Place) => Promise<A>): Promise<A> => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-bench-"))
  const children: Array<ChildProcess> = []
  try {
    return await act({ folder, children })
  } finally {
    for (const child of children) child.kill("SIGKILL")
    rmSync(folder, { recursive: true, force: true })
  }
}

export interface Service {
  /** Of its configuration file. */
  readonly name: string
  readonly config: object
  /** Of this checkout, unless it is given. */
  readonly tree?: Tree
  /** Options of Node. */
  readonly node?: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
  /** The most descriptors of the process; absent: as many as of the benchmark. */
  readonly files?: number | undefined
}

export interface Process {
  readonly child: ChildProcess
  readonly port: number
}

/** As it starts itself. */
export const NURSERY = "--max-semi-space-size=16"

/** Starts the service on a free port, and waits until it listens. */
export const serve = (
  children: Array<ChildProcess>,
  folder: string,
  { config, env, files, name, node = [], tree = here }: Service
): Promise<Process> => {
  const file = join(folder, `${name}.json`)
  writeFileSync(file, JSON.stringify({ server: { port: 0 }, ...config }))
  const main = join(tree.folder, "apps/session-orchestrator/src/main.ts")
  return listening({ children, folder }, [NURSERY, ...node, main, "serve", "--config", file], env, files)
}

/** Starts a program of this folder that prints the port it listens on. */
export const server = (place: Place, file: string, ...args: ReadonlyArray<string>): Promise<Process> =>
  listening(place, [join(import.meta.dirname, file), ...args])

/** The same with options of Node. */
export const serverWith = (
  place: Place,
  node: ReadonlyArray<string>,
  file: string,
  ...args: ReadonlyArray<string>
): Promise<Process> => listening(place, [...node, join(import.meta.dirname, file), ...args])

/** Starts a program, and waits until it prints what matches. */
export const start = (
  children: Array<ChildProcess>,
  cwd: string,
  args: ReadonlyArray<string>,
  pattern: RegExp,
  env: Readonly<Record<string, string>> = {},
  files?: number
): Promise<string> =>
  new Promise((resolve, reject) => {
    const limited = ["-c", `ulimit -n ${files}; exec "$0" "$@"`, process.execPath, ...args]
    const child = spawn(files === undefined ? process.execPath : "sh", files === undefined ? args : limited, {
      cwd,
      stdio: ["ignore", "pipe", "ignore"],
      env: { ...process.env, ...env }
    })
    children.push(child)
    let printed = ""
    child.stdout.on("data", (text: Buffer) => {
      printed += text.toString()
      const found = pattern.exec(printed)?.[1]
      if (found !== undefined) resolve(found)
    })
    child.on("exit", (code) => reject(new Error(`a process of the benchmark ended with ${code}: ${printed}`)))
  })

/** Waits until a process is gone. */
export const ended = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve()
    else child.on("exit", () => resolve())
  })

/** Ends a process, and waits until it is gone. */
export const stop = ({ child }: Pick<Process, "child">, signal: NodeJS.Signals = "SIGTERM"): Promise<void> => {
  child.kill(signal)
  return ended(child)
}

/** What the calls of a benchmark are answered with, as far as it looks at it. */
export interface Answer {
  readonly conversationId?: string
  readonly status?: string
  readonly attempt?: number
  /** The cursor of the next page. */
  readonly next?: string
}

/** Makes a call that has a body, and reads its answer. */
export const post = (port: number, path: string, body: object, method = "POST"): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const text = JSON.stringify(body)
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(text) }
    const outgoing = request({ host: "127.0.0.1", port, path, method, headers, agent: false }, (response) => {
      let answer = ""
      response.setEncoding("utf8").on("data", (part: string) => (answer += part))
      response.on("end", () => resolve(answer === "" ? {} : JSON.parse(answer)))
      response.on("error", reject)
    })
    outgoing.on("error", reject)
    outgoing.end(text)
  })

/** Waits for `ms`. */
export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** CPU that a process has used so far, in milliseconds, all of its threads together. From `/proc`, so on Linux alone. */
export const cpuMs = ({ child: { pid } }: Process): number => {
  let nanoseconds = 0
  for (const thread of readdirSync(`/proc/${pid}/task`))
    nanoseconds += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ", 1)[0])
  return nanoseconds / 1e6
}

/** Its resident memory, in bytes. On Linux alone. */
export const residentBytes = ({ pid }: ChildProcess): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024

// --- internal

const listening = async (
  { children, folder }: Place,
  args: ReadonlyArray<string>,
  env?: Readonly<Record<string, string>>,
  files?: number
): Promise<Process> => {
  const started = start(children, folder, args, PORT, env, files)
  // `start` has added it before it waits.
  const child = children.at(-1)
  const port = Number(await started)
  if (child === undefined) throw new Error("there is no process")
  return { child, port }
}
