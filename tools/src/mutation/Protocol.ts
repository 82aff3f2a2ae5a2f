/** The messages between the mutation runner and the processes that run its tests. */

/** A test file of one project; a file of two projects is two. */
export interface TestFile {
  readonly project: string
  /** From the root of the repository. */
  readonly path: string
}

/** A message to the host process. */
export type Request =
  | { readonly type: "list"; readonly folders: ReadonlyArray<string> }
  /** Runs one test file over sources that count their points. */
  | { readonly type: "cover"; readonly test: TestFile; readonly package: string }
  /** Runs test files, in this order, over sources one of which is changed. */
  | {
      readonly type: "run"
      readonly tests: ReadonlyArray<TestFile>
      readonly path: string
      readonly text: string
      /** Whether one of them starts the program, which is then bundled with the change. */
      readonly isProgram: boolean
    }

/** A message from the host process. */
export type Reply =
  | { readonly type: "listed"; readonly tests: ReadonlyArray<TestFile> }
  | ({ readonly type: "covered" } & Covered)
  | { readonly type: "began"; readonly test: string }
  | { readonly type: "ran"; readonly failure: TestFailure | undefined }
  /** The request could not be served. */
  | { readonly type: "broken"; readonly message: string }

/** What a test file reached. */
export interface Covered {
  readonly failure: TestFailure | undefined
  readonly durationMs: number
  /** By source, the names of the points that were evaluated. */
  readonly points: { readonly [path: string]: ReadonlyArray<string> }
  /** The files of the repository that the test file is made of. */
  readonly modules: ReadonlyArray<string>
  /** Whether it started the program. */
  readonly isProgram: boolean
}

/** A failed test. */
export interface TestFailure {
  readonly test: string
  /** The title of the test that failed, or what else went wrong. */
  readonly title: string
}
