/**
 * The package.json of a published package, made from that of its folder.
 *
 * Manifest.M1. Exports and programs name the JavaScript and the types that the compiler wrote beside each other; every other field is as in the folder.
 *     Peers under `publish` are the published package's alone: a framework that a package's code does not import is not installed in the workspace.
 * Manifest.M2. No version of the workspace is left (`workspace:`, `catalog:`): all packages have one version, and depend on each other by it.
 * Manifest.M3. A bundle depends on nothing that it contains.
 */

/** A package.json, as far as it is read here. */
export interface Manifest {
  readonly name: string
  readonly version: string
  readonly private?: boolean
  readonly bin?: { readonly [name: string]: string }
  readonly exports?: { readonly [path: string]: string }
  readonly scripts?: unknown
  readonly dependencies?: Versions
  readonly devDependencies?: Versions
  readonly peerDependencies?: Versions
  readonly publish?: {
    readonly bin?: { readonly [name: string]: string }
    /** The folder of the program, which is published as a bundle and not module by module. */
    readonly bundle?: string
    /** The dependencies that the bundle does not contain. */
    readonly dependencies?: ReadonlyArray<string>
    readonly peerDependencies?: Versions
    /** The package carries docs/ and llms.txt. */
    readonly docs?: boolean
  }
}

/** What versions of other packages are asked for. */
export type Versions = { readonly [name: string]: string }

/** The fields of every published package. */
const COMMON = {
  type: "module",
  sideEffects: false,
  license: "MIT",
  engines: { node: ">=22" },
  publishConfig: { access: "public", provenance: true }
}

/** What a manifest of a folder does not have. */
export interface Surroundings {
  /** The versions of the workspace's dependencies. */
  readonly catalog: Versions
  /** The exports of single modules (`Subpaths`). */
  readonly modules: { readonly [path: string]: string }
  /** Where the sources are, which is what npm checks the provenance against; absent: the checkout has no origin. */
  readonly repository?: { readonly url: string; readonly directory: string } | undefined
}

/** The manifest to publish. */
export const published = (manifest: Manifest, { catalog, modules, repository }: Surroundings): object => {
  const {
    devDependencies: _,
    exports,
    private: __,
    publish,
    scripts: ___,
    dependencies,
    peerDependencies,
    ...rest
  } = manifest
  const versioned = (versions: Versions | undefined) =>
    versions &&
    Object.fromEntries(Object.entries(versions).map(([name, range]) => [name, rangeOf(manifest, catalog, name, range)]))
  const needed = publish?.dependencies
  const left = Object.entries(dependencies ?? {}).filter(([name]) => needed === undefined || needed.includes(name))
  return {
    ...rest,
    ...COMMON,
    // A program has the packages in it that ask for this; of a library npm warns by their own manifests.
    ...(publish?.bundle !== undefined && { engines: { node: ">=22.19" } }),
    ...(publish?.bin && { bin: publish.bin }),
    repository: repository && { type: "git", ...repository },
    exports:
      exports &&
      Object.fromEntries(Object.entries({ ...exports, ...modules }).map(([path, file]) => [path, entryOf(file)])),
    dependencies: versioned(dependencies && Object.fromEntries(left)), // Manifest.M3
    peerDependencies: versioned(peerDependencies ?? publish?.peerDependencies)
  }
}

/** The address of a repository as a manifest has it, of the address that git has; absent where that is a folder of this machine. */
export const repositoryOf = (origin: string): string | undefined => {
  const [, host, path] = /^git@([^:]+):(.+)$/.exec(origin) ?? []
  const address = host === undefined ? origin.replace(/^ssh:\/\/git@/, "https://") : `https://${host}/${path}`
  if (!/^(git\+)?https?:\/\//.test(address)) return undefined
  return address.startsWith("git+") ? address : `git+${address}`
}

/** Rewrites imports of sources to imports of what the compiler wrote, in a declaration file. */
export const declaration = (text: string): string =>
  text.replace(/((?:from|import)\s*\(?\s*")(\.{1,2}\/[^"]+)\.ts"/g, '$1$2.js"')

/** The same for files that a program opens by their address, such as a worker's. */
export const script = (text: string): string =>
  text.replace(/(new URL\("\.{1,2}\/[^"]+)\.ts", import\.meta\.url\)/g, '$1.js", import.meta.url)')

// --- internal

const entryOf = (file: string): unknown =>
  file.endsWith(".ts") ? { types: file.replace(/\.ts$/, ".d.ts"), default: file.replace(/\.ts$/, ".js") } : file

const rangeOf = ({ version }: Manifest, catalog: Versions, name: string, range: string): string => {
  if (range.startsWith("workspace:")) return version
  if (range !== "catalog:") return range
  const known = catalog[name]
  if (known === undefined) throw new Error(`pnpm-workspace.yaml has no version of ${name} in its catalog.`)
  // A newer one of the same major will do, but for `effect`, whose minor versions may change what packages build on.
  return name === "effect" || name.startsWith("@effect/") ? `~${known}` : `^${known}`
}
