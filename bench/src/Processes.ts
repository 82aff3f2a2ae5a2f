/** Starts programs for benchmarks, the service among them, and calls it over HTTP. */
import { type ChildProcess, spawn } from "node:child_process"
import { writeFileSync } from "node:fs"
import { request } from "node:http"
import { join } from "node:path"

/** The port in what a server prints when it listens. */
export const PORT = /(?:^|127\.0\.0\.1:)(\d{4,5})\b/m

export interface Service {
  /** Of its configuration file. */
  readonly name: string
  readonly config: object
  /** Options of Node. */
  readonly node?: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
}

/** Starts the service on a free port, and waits until it listens. */
export const serve = async (
  children: Array<ChildProcess>,
  folder: string,
  { config, env, name, node = [] }: Service
): Promise<{ readonly child: ChildProcess; readonly port: number }> => {
  const file = join(folder, `${name}.json`)
  writeFileSync(file, JSON.stringify({ server: { port: 0 }, ...config }))
  const port = await start(children, folder, [...node, MAIN, "serve", "--config", file], PORT, env)
  const child = children.at(-1)
  if (child === undefined) throw new Error("there is no service")
  return { child, port: Number(port) }
}

/** Starts a program, and waits until it prints what matches. */
export const start = (
  children: Array<ChildProcess>,
  cwd: string,
  args: ReadonlyArray<string>,
  pattern: RegExp,
  env: Readonly<Record<string, string>> = {}
): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, {
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

/** What the calls of a benchmark are answered with, as far as it looks at it. */
export interface Answer {
  readonly conversationId?: string
  readonly status?: string
  readonly attempt?: number
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

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

// --- internal

const MAIN = join(import.meta.dirname, "../../apps/session-orchestrator/src/main.ts")
