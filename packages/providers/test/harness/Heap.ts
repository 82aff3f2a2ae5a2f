/** Measures the memory of this thread. */
import * as v8 from "node:v8"
import * as vm from "node:vm"

/** Bytes that are in use when nothing more can be collected. */
export const heapUsed = (): number => {
  v8.setFlagsFromString("--expose-gc")
  vm.runInNewContext("gc")()
  return process.memoryUsage().heapUsed
}
