/** The packages whose sources can be mutated, and the tests that are asked about each. */

/** A package that can be mutated. */
export interface Package {
  readonly name: string
  /** The folder, from the root of the repository. */
  readonly folder: string
  /** Sources that are test equipment, by the start of their path. */
  readonly without: ReadonlyArray<string>
  /** Folders whose tests are asked beside the package's own: the simulated nights run most of the service. */
  readonly also?: ReadonlyArray<string>
}

/** The tests of `PatientStream`, which stand in the packages that make their calls by it. */
const PATIENT = ["packages/holdfast/test/PatientCall.test.ts", "packages/effect-ai/test/PatientLanguageModel.test.ts"]

/** All packages that can be mutated. */
export const packages: ReadonlyArray<Package> = [
  { name: "wire", folder: "packages/wire", without: [] },
  { name: "kernel", folder: "packages/kernel", without: [] },
  { name: "policy", folder: "packages/policy", without: [] },
  { name: "providers", folder: "packages/providers", without: [], also: ["simulate/test", ...PATIENT] },
  { name: "journal", folder: "packages/journal", without: [] },
  { name: "client", folder: "packages/client", without: [] },
  { name: "mcp", folder: "packages/mcp", without: [] },
  { name: "session-orchestrator", folder: "apps/session-orchestrator", without: [], also: ["simulate/test"] }
]

/** The test projects whose files of the package are asked first. Survivors are asked of all others too. */
export const projects: ReadonlyArray<string> = ["unit", "int"]
