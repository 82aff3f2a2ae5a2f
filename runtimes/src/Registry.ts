/**
 * A registry on loopback that has the packed packages, and shows what `npx` does with them in an empty folder and an empty home.
 *
 * Other packages come from the registry that npm is configured for.
 */
import { execFileSync, spawn } from "node:child_process"
import { mkdirSync, readFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { createInterface } from "node:readline"
import type { Check } from "../../tools/src/acceptance/Report.ts"

/** Runs `npx @holdfast/server` up to a served request, and `npx holdfast` where the service is not installed. */
export const run = async (tarballs: ReadonlyArray<string>, folder: string, check: Check): Promise<void> => {
  const server = await serve(tarballs)
  const registry = urlOf(server)
  const env = { ...process.env, HOME: folder, npm_config_registry: registry, npm_config_cache: join(folder, "cache") }
  const npx = (...args: ReadonlyArray<string>) => {
    const cwd = join(folder, "empty")
    mkdirSync(cwd, { recursive: true })
    return spawn("npx", ["--yes", ...args], { cwd, env: { ...env, HOLDFAST_PORT: "0" }, detached: true })
  }
  try {
    const service = npx("@holdfast/server")
    const lines: Array<string> = []
    service.stderr.on("data", (text) => lines.push(String(text)))
    let problem: string | undefined
    for await (const line of createInterface(service.stdout)) {
      lines.push(line)
      const [url] = /http:\/\/\S+:\d+/.exec(line) ?? []
      if (url === undefined) continue
      problem = await fetch(`${url}/healthz`).then(
        ({ status }) => (status === 200 ? undefined : `/healthz: ${status}`),
        String
      )
      lines.push("ready")
      break
    }
    if (service.pid !== undefined) kill(service.pid)
    check(
      "npx @holdfast/server starts the service, in an empty folder and home",
      lines.at(-1) === "ready" ? problem : lines.join("\n")
    )
    const library = npx("holdfast")
    const text: Array<string> = []
    for await (const line of createInterface(library.stderr)) text.push(line)
    check(
      "npx holdfast prints how to install the service",
      text.some((line) => line.includes("Run `npx @holdfast/server`")) ? undefined : text.join("\n")
    )
  } finally {
    server.close()
  }
}

// --- internal

/** Ends a process with all that it started. */
const kill = (pid: number): void => {
  try {
    process.kill(-pid)
  } catch {
    // They have ended, and the check says why.
  }
}

const urlOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`

/** The registry: a document for each package, and its tarball. */
const serve = async (tarballs: ReadonlyArray<string>): Promise<Server> => {
  const upstream = execFileSync("npm", ["config", "get", "registry"], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"]
  }).replace(/\/?\s*$/, "")
  const packages = new Map(
    tarballs.map((path) => {
      const manifest = JSON.parse(execFileSync("tar", ["-xzOf", path, "package/package.json"], { encoding: "utf8" }))
      return [manifest.name as string, { manifest, path }]
    })
  )
  const server = createServer(({ url = "/" }, response) => {
    const [name = "", file] = decodeURIComponent(url.slice(1)).split("/-/")
    const found = packages.get(name)
    if (found === undefined) return response.writeHead(302, { location: `${upstream}${url}` }).end()
    if (file !== undefined) return response.end(readFileSync(found.path))
    const { manifest } = found
    const dist = { tarball: `${urlOf(server)}${name}/-/${manifest.version}.tgz` }
    const versions = { [manifest.version]: { ...manifest, dist } }
    response.setHeader("content-type", "application/json")
    return response.end(JSON.stringify({ name, "dist-tags": { latest: manifest.version }, versions }))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return server
}
