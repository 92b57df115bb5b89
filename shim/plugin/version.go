package plugin

// version of Headroom, as CMakeLists.txt has it: what a build of kube-scheduler knows of the module that
// the plugin came in says less.
const version = "0.1.0"
