/** A simulated model endpoint in this process: answers and fails by a script. */
export * as Course from "./Course.ts"
export * as Simulated from "./Simulated.ts"
