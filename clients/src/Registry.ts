/** A registry on loopback that has the packed server and what it depends on, as npm's registry would have them. */
import { execFileSync } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"

/** A registry. */
export interface Registry {
  readonly url: string
  readonly close: () => void
}

/** Packs everything, and serves it. */
export const start = async (): Promise<Registry> => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-registry-"))
  const packages = new Map<string, Packed>()
  const printed = execFileSync(process.execPath, [join(root, "tools/src/pack/main.ts")], {
    cwd: server,
    encoding: "utf8"
  })
  add(packages, join(server, ".pack"), join(root, printed.split(",", 1)[0] ?? ""))
  const modules = join(server, "node_modules")
  for (const name of dependenciesOf(packages)) addTree(packages, join(modules, name), folder)
  const listener = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? "").slice(1)
    const known = packages.get(path)
    const tarball = Array.from(packages.values()).find(({ manifest }) => path === `${manifest.name}.tgz`)?.tarball
    if (tarball !== undefined) return void response.end(readFileSync(tarball))
    if (known === undefined) return void response.writeHead(404).end("{}")
    const { name, version } = known.manifest
    const dist = { tarball: `${url}/${encodeURIComponent(name)}.tgz` }
    const versions = { [version]: { ...known.manifest, dist } }
    response.writeHead(200, { "content-type": "application/json" })
    response.end(JSON.stringify({ name, "dist-tags": { latest: version }, versions }))
  })
  listener.listen(0, "127.0.0.1")
  await once(listener, "listening")
  const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`
  return {
    url,
    close: () => {
      listener.close()
      listener.closeAllConnections()
      rmSync(folder, { recursive: true })
    }
  }
}

// --- internal

interface Manifest {
  readonly name: string
  readonly version: string
  readonly dependencies?: Readonly<Record<string, string>>
}

interface Packed {
  readonly manifest: Manifest
  readonly tarball: string
}

const root = join(import.meta.dirname, "../..")
const server = join(root, "apps/session-orchestrator")

const add = (packages: Map<string, Packed>, folder: string, tarball: string): void => {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest
  packages.set(manifest.name, { manifest, tarball })
}

const dependenciesOf = (packages: ReadonlyMap<string, Packed>): ReadonlyArray<string> =>
  Array.from(packages.values()).flatMap(({ manifest }) => Object.keys(manifest.dependencies ?? {}))

/** Packs an installed package, and those that it depends on: pnpm has them beside it. */
const addTree = (packages: Map<string, Packed>, link: string, target: string): void => {
  const folder = realpathSync(link)
  const { name, dependencies = {} } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest
  const tarball = join(target, `${encodeURIComponent(name)}.tgz`)
  execFileSync("tar", ["-czf", tarball, "--transform", "s,^[.],package,", "-C", folder, "."])
  add(packages, folder, tarball)
  const beside = name.startsWith("@") ? dirname(dirname(folder)) : dirname(folder)
  for (const other of Object.keys(dependencies))
    if (!packages.has(other)) addTree(packages, join(beside, other), target)
}
