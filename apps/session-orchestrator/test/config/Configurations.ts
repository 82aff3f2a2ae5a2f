/** Resolves configurations for tests, without disk and process. */
import { Simulated } from "@holdfast/simulated"
import { Result } from "effect"
import type { Values } from "../../src/config/Config.ts"
import type { Environment } from "../../src/config/reading/Environment.ts"
import * as Resolve from "../../src/config/Resolve.ts"
import type * as Sources from "../../src/config/reading/Sources.ts"

export const FILE = "holdfast.config.json"

export interface ConfigurationInput {
  readonly file?: unknown
  readonly environment?: Environment
  readonly flags?: Sources.Flags
  readonly isService?: boolean
}

export const resolve = ({ environment, file, flags, isService = true }: ConfigurationInput) =>
  Resolve.resolve({
    file: file === undefined ? undefined : { name: FILE, path: `/etc/${FILE}`, content: file },
    environment: environment ?? {},
    flags: flags ?? {},
    absolute: (path, from) =>
      path.startsWith("/") ? path : `${from === "file" ? "/etc" : "/home"}/${path.replace(/^\.\//, "")}`,
    simulated: Simulated,
    isService
  })

/** The configuration in force; throws if it has problems. */
export const config = (given: ConfigurationInput = {}): Values => Result.getOrThrow(resolve(given))

/** The problems, one line each; none if the configuration is good. */
export const problems = (given: ConfigurationInput): ReadonlyArray<string> =>
  Result.match(resolve(given), {
    onSuccess: () => [],
    onFailure: ({ problems }) => problems.map(({ message, place }) => `${place}: ${message}`)
  })
