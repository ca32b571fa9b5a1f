"""The tests of gpudoctor, mirroring the package."""
