# Taken in by idemConfig.cmake, behind the targets of the client.
include(${CMAKE_CURRENT_LIST_DIR}/idemCacheTargets.cmake)
set(idem_cache_FOUND TRUE)
