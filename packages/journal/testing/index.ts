/** The tests that every journal passes, and files for them. */
export * as JournalSuite from "./JournalSuite.ts"
export * as TemporaryFile from "./TemporaryFile.ts"
